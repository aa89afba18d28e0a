"""`make test-vm`: a Debian from an empty file, booted, provisioned as Vagrant does it, and trials run inside.

Exit codes: 0 every stage passed, 1 one failed, 3 this machine lacks what it takes, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.vm import image, payload
from tests.vm.machine import Machine, MachineFailed

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "replab"
PLACES = ("uml", "host", "host/mininet")  # as the guest's script knows them: --on, --fabric unless it is netlink
NEEDED = {
    "mmdebstrap": "mmdebstrap",
    "fakeroot": "fakeroot",
    "qemu-system-x86_64": "qemu-system-x86",
    "setpriv": "util-linux",
    "newuidmap": "uidmap",
}


def main() -> int:
    """The exit code."""
    options = _options()
    lacking = [package for tool, package in NEEDED.items() if not shutil.which(tool)]
    if lacking:
        print(f"test-vm: sudo apt-get install {' '.join(lacking)}", file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    begun = time.monotonic()
    try:
        base = image.base(options.suite, CACHE / "vm", options.refresh)
    except subprocess.CalledProcessError as error:
        print(f"test-vm: no image of {options.suite}: {error}", file=sys.stderr)
        return 1
    print(f"image of {options.suite}: {time.monotonic() - begun:.0f} s", flush=True)
    given = options.kernels == "given"
    if given:
        print("the kernels under test are this machine's: their build inside is not tested", flush=True)
    settings = {"kernels": options.kernels, "on": " ".join(options.on), "claim": options.claim}
    stages = ["prepare", "provision", "again", "jupyter", *(f"run on {place}" for place in options.on)]
    machine = Machine(options.cpus, options.memory, options.budget)
    with tempfile.TemporaryFile() as disk, tempfile.TemporaryFile() as console:
        payload.pack(disk, settings, CACHE / "kernels" if given else None)
        passed = _follow(machine.lines(base, disk, console))
        if passed == stages:
            return 0
        print(f"test-vm: passed {', '.join(passed) or 'no stage'}; the console's last lines:", file=sys.stderr)
        console.seek(0)
        print(*console.read().decode(errors="replace").splitlines()[-20:], sep="\n", file=sys.stderr)
    return 1


def _follow(lines: Iterable[str]) -> list[str]:
    """The stages that passed. Prints what is said, and how long each took."""
    passed: list[str] = []
    begun = time.monotonic()
    try:
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "@began":
                begun = time.monotonic()
                print(f"{rest}:", flush=True)
            elif word == "@ended":
                stage, _, status = rest.rpartition(" ")
                print(f"{stage}: status {status}, {time.monotonic() - begun:.0f} s", flush=True)
                passed += [stage] if status == "0" else []
            else:
                print(f"    {line}", flush=True)
    except MachineFailed as error:
        print(f"test-vm: {error}", file=sys.stderr)
    return passed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-vm ARGS=...", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suite", default="trixie", help="of Debian; the Vagrantfile's unless given")
    parser.add_argument("--refresh", action="store_true", help="an image of today's packages")
    parser.add_argument("--kernels", choices=("build", "given"), default="build", help="given: this machine's, copied")
    parser.add_argument(
        "--on", action="append", metavar="PLACE", help=f"where the claim runs (default: {' '.join(PLACES)})"
    )
    parser.add_argument("--claim", default="asymmetric-mtu/mss-advertised", help="what a slow processor can carry, too")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory", type=int, default=4096, metavar="MIB")
    parser.add_argument("--budget", type=float, default=3600, metavar="SECONDS", help="for a silence of the machine")
    options = parser.parse_args()
    options.on = options.on or PLACES
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
