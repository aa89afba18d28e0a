"""Run a Mininet script with the lab's wires: SEED, then the command line of inside.py, which is beside this file.

wires.json gets the wires that the script made, and the `tc` commands that it ran on their ends.
"""

import json
import os
import runpy
import sys
from pathlib import Path

EXACT = Path("/run/exact")  # what `exact_wires` and tc leave here


def main(seed: str, *command: str) -> None:
    """Run the script, and write down its wires."""
    here = Path(__file__).parent
    EXACT.mkdir()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(here), os.environ["PYTHONPATH"]])
    os.environ["EXACT_SEED"] = seed
    sys.argv = [str(here / "inside.py"), *command]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        Path("wires.json").write_text(json.dumps(report(), indent=1) + "\n")


def report() -> dict[str, object]:
    """Return the wires that the script made, in their order, and its own tc commands."""
    wires, commands = EXACT / "wires", EXACT / "tc"
    made = [json.loads(line) for line in wires.read_text().splitlines()] if wires.exists() else []
    own = commands.read_text(errors="replace").splitlines() if commands.exists() else []
    return {"wires": sorted(made, key=lambda wire: wire["number"]), "tc": own}


if __name__ == "__main__":
    main(*sys.argv[1:])
