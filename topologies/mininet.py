"""Our topologies for Mininet's own command, with every wire, address and sysctl as `lab run` has them:

sudo mn --custom topologies/mininet.py --topo lab,symmetric-1g
"""

import inspect
import site
import sys
from pathlib import Path
from typing import Any


def lab(name: str) -> Any:
    """The topology of that name, or in that file, as Mininet's. Raises InputError, SpecError."""
    from lab.fabric.mininet import LabTopo
    from lab.fabric.spaces import Spaces
    from lab.spec import find

    return LabTopo(Spaces(find.topology(name).network))


def find_lab() -> None:
    """`mn` runs on the system's Python and does not say which file this is: its code does."""
    project = Path(inspect.getfile(lab)).resolve().parents[1]
    packages = project / f".venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    if not packages.is_dir():
        sys.exit(f"{packages} is missing: .venv was made with another Python than the one that mn runs on")
    sys.path.append(str(project))
    site.addsitedir(str(packages))


find_lab()
topos = {"lab": lab}
