"""Offer the lab's topologies to Mininet's own command, with the same wires, addresses and sysctls as in `lab run`:

sudo mn --custom topologies/mininet.py --topo lab,symmetric-1g
"""

import inspect
import site
import sys
from pathlib import Path
from typing import Any


def lab(name: str) -> Any:
    """Return the topology with that name, or in that file, as a Mininet Topo. Raises InputError, SpecError."""
    from lab.guest.fabric.mininet import LabTopo
    from lab.guest.fabric.spaces import Spaces
    from lab.spec import find

    return LabTopo(Spaces(find.topology(name).network))


def find_lab() -> None:
    """Add the lab's packages to Python's path. `mn` runs on the system's Python, and does not set `__file__` here."""
    project = Path(inspect.getfile(lab)).resolve().parents[1]
    packages = project / f".venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    if not packages.is_dir():
        sys.exit(f"{packages} is missing: .venv was made with a different Python than mn's")
    sys.path.append(str(project))
    site.addsitedir(str(packages))


find_lab()
topos = {"lab": lab}
