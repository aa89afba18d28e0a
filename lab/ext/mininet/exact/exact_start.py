"""Run a Mininet script with the lab's wires: SEED, then the command line of inside.py, which is beside this file.

wires.json gets the wires that the script made, and the `tc` commands that it ran on their ends.
"""

import json
import os
import runpy
import sys
from pathlib import Path

OWN = Path("/run/bin")  # first in the PATH of the script
EXACT = Path("/run/exact")  # what `exact_wires` and tc leave here
# The queue of an exact wire is not in the namespace of its end. `tc` shows it there all the same, as scripts read it.
TC = r"""#!/bin/sh
previous=
device=
change=
for word; do
    case "$previous" in dev) device=$word ;; esac
    case "$word" in add | change | replace | del | delete | link) change=yes ;; esac
    previous=$word
done
known=/run/exact/$(stat -Lc %i /proc/self/ns/net)/$device
[ -n "$device" ] && [ -f "$known" ] || exec /usr/sbin/tc "$@"
if [ -n "$change" ]; then
    echo "tc $*" >> /run/exact/tc
    exec /usr/sbin/tc "$@"
fi
read -r inner < "$known"
for word; do
    shift
    [ "$word" = "$device" ] && word=$inner
    set -- "$@" "$word"
done
exec ip netns exec wires /usr/sbin/tc "$@"
"""


def main(seed: str, *command: str) -> None:
    """Run the script, and write down its wires."""
    here = Path(__file__).parent
    for folder in (OWN, EXACT):
        folder.mkdir()
    (OWN / "tc").write_text(TC)
    (OWN / "tc").chmod(0o755)
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
