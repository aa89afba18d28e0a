"""Find the features that work on this machine, and the exact blocker and fix for the others.

Each check tries a feature.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.app.building import minutes
from lab.errors import LabError
from lab.ext.doctor.forbidden import NEEDS, forbidden
from lab.machine.kernel import HOST_MEMORY, guest, landlock
from lab.machine.kernel.host import running
from lab.machine.kernel.uml import cache, intact
from lab.machine.kernel.uml.compiling import CPU_SECONDS
from lab.machine.kernel.uml.start import memory_blocker
from lab.machine.kernel.vm import qemu, stock
from lab.machine.userland import cache as userlands
from lab.runner import tools
from lab.runner.code import sealed
from lab.units import Size

MEMORY = Size.of("512 MiB")  # per guest; one guest runs on each CPU
DISK = Size.of("1 GiB")  # for the captures of all claims
SECONDS = 60.0  # for checks that may hang; a guest boots in a tenth of a second, unless its processor is emulated
NEWEST_LANDLOCK = "6.12"  # the first Linux with all of Landlock's features that the lab uses
TOOLS = {  # the option that prints the version, and the Debian package
    "iperf3": ("--version", "iperf3"),
    "qperf": ("--version", "qperf"),
    "ping": ("-V", "iputils-ping"),
    "tcpdump": ("--version", "tcpdump"),
    "tshark": ("--version", "tshark"),
    "ethtool": ("--version", "ethtool"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """Holds the result of one check."""

    name: str
    ok: bool | None  # False: trials do not run by default (`--on uml`); None: only something else does not work
    detail: str  # the finding, or the exact blocker
    cure: str = ""  # how to fix it; "" if nothing is wrong


def report(results: Path = Path("results")) -> list[Check]:
    """Return the results of all checks, in the order in which to fix problems. `results` is the store of records."""
    calls = _calls()
    own = [_python(), _cpus(), _memory(), _disk(results), calls, _userland(), *_kernel(calls)]
    return [*own, _host(), *_tools(), _mininet(), *_vm()]


def render(checks: Sequence[Check]) -> RenderableType:
    """Return the checks for a terminal with 80 columns, each fix below its problem."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        mark, style = {True: ("ok", "green"), False: ("no", "red"), None: ("-", "yellow")}[check.ok]
        text = Text(check.detail)
        if check.cure:
            text.append(f"\nfix: {check.cure}", "bold")
        table.add_row(Text(mark, style), check.name, text)
    return Group(table, _closing(checks))


def _closing(checks: Sequence[Check]) -> str:
    needed = [check.name for check in checks if check.ok is False]
    first = f"Fix first: {', '.join(needed)}." if needed else "Everything that `lab run` needs works."
    others = any(check.ok is None for check in checks)
    return f"{first} A line with - only matters for a different way of running." if others else first


def _python() -> Check:
    return Check("python", True, f"{platform.python_version()}, {sys.executable}")


def _cpus() -> Check:
    count = len(os.sched_getaffinity(0))
    return Check("CPUs", True, f"{count}: this many trials run at once")


def _tools() -> list[Check]:
    checks = []
    for tool, (option, package) in TOOLS.items():
        status, said = _ask([tool, option])
        if status is None:
            blocker = f"{said}: only --on host, --on vm and --userland host use this machine's own"
            checks.append(Check(tool, None, blocker, f"sudo apt-get install {package}, or make setup-host"))
        else:
            versions = (line for line in said.splitlines() if re.search(r"\d", line))
            checks.append(Check(tool, True, next(versions, "present, of an unknown version")))
    return checks


def _mininet() -> Check:
    try:
        version = tools.versions(tools.of_fabric("mininet"))["mininet"]
    except LabError:
        blocker = "mininet is not installed: only --on host and --userland host use this machine's own"
        return Check("mininet", None, blocker, "sudo apt-get install mininet, or make setup-host")
    return Check("mininet", True, f"{version}, for lab mn and --fabric mininet")


def _memory() -> Check:
    wanted = Size(MEMORY.bytes * len(os.sched_getaffinity(0)))
    blocker = memory_blocker(HOST_MEMORY, wanted)
    if blocker is None:
        return Check(str(HOST_MEMORY), True, f"{_gib(wanted)} free for the memory of guests")
    blocker = f"{blocker}, {_gib(wanted)} wanted: guests' memory will be on the disk, and slower"
    options = f"rw,exec,mode=1777,size={wanted.bytes >> 20}M"
    how = f"-o remount,{options}" if HOST_MEMORY.is_mount() else f"-t tmpfs -o {options} tmpfs"
    return Check(str(HOST_MEMORY), None, blocker, f"sudo mount {how} {HOST_MEMORY}")


def _calls() -> Check:
    """Return whether a restriction, such as a container's seccomp profile, forbids system calls that guests need."""
    found = forbidden()
    if not found:
        return Check("system calls", True, "all calls that guests need are allowed")
    told = "; ".join(f"without {name} {NEEDS[name]}" for name in found)
    works = not any("do not start" in NEEDS[name] for name in found if name != "ptrace")
    cure = "docker or podman run --security-opt seccomp=unconfined, or =FILE of a profile that allows them"
    return Check("system calls", None if works else False, f"forbidden here: {told}", cure)


def _disk(results: Path) -> Check:
    place = results.resolve()
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK):
        return Check("results", False, f"{place} cannot be written to", "choose a different place with --results DIR")
    free = Size(shutil.disk_usage(place).free)
    if free.bytes < DISK.bytes:
        blocker = f"{_gib(free)} free in {place}, {_gib(DISK)} wanted"
        return Check("results", False, blocker, "make room, or choose a different place with --results DIR")
    return Check("results", True, f"{_gib(free)} free in {place}")


def _userland() -> Check:
    """Return whether the guest userland is in the cache and unaltered."""
    try:
        found = userlands.find("guest")
    except LabError as error:
        return Check("userland", False, str(error), "lab userland build (a minute, and 69 MB from a mirror)")
    altered = found.altered()
    if altered:
        more = f" and {len(altered) - 1} more" if altered[1:] else ""
        cure = f"remove {found.tree.parent}, then run `lab userland build`"
        return Check("userland", False, f"{altered[0]}{more} in {found.tree} was altered", cure)
    return Check("userland", True, f"{found.id}, unaltered")


def _kernel(calls: Check) -> list[Check]:
    """Return whether a kernel under test is built and, if the system calls permit it, whether the kernel boots."""
    try:
        kernel = cache.find()
    except LabError as error:
        cpus = len(os.sched_getaffinity(0))
        cure = f"lab kernel build (about {minutes(CPU_SECONDS / cpus)} on {cpus} CPUs)"
        return [Check("kernel", False, str(error), cure), Check("guest", False, "there is no kernel to boot", cure)]
    try:
        for each in cache.installed():
            intact.check(each.path, every_byte=True)
    except LabError as error:
        return [Check("kernel", False, str(error)), Check("guest", False, "there is no intact kernel to boot")]
    built = Check("kernel", True, f"{kernel.name} ({kernel.version}, {kernel.hz} Hz, {kernel.id[:12]})")
    anew = f"remove {kernel.path.parent}, then run `lab kernel build`"
    cure = calls.cure if calls.ok is False else anew
    with guest.scratch_guest_folder() as folder:
        try:
            root = sealed(userlands.find("guest").id)
            result = guest.boot(kernel, folder, ["true"], memory=MEMORY, budget=guest.Budget(wall=SECONDS), root=root)
        except LabError as error:
            told = error.quote() if isinstance(error, guest.GuestError) else error  # the log will be removed
            return [built, Check("guest", False, str(told), cure)]
    if result.status != 0:
        return [built, Check("guest", False, f"it ended with status {result.status}", cure)]
    boots = Check("guest", True, f"boots and ends in {result.wall_seconds:.2f} s")
    return [built, boots, _containment(result.contained)]


def _containment(how: str) -> Check:
    """Return the degree to which guests are confined. Trials run regardless of the result."""
    if gaps := landlock.gaps(landlock.abi()):
        what = "guests are not contained" if landlock.abi() == 0 else "guests are contained except for"
        cure = f"a host with Linux {NEWEST_LANDLOCK} or newer and Landlock among its LSMs (lsm=landlock,...)"
        return Check("containment", None, f"{what}: {', '.join(gaps)} ({how})", cure)
    return Check("containment", True, f"guests are contained {how}")


def _host() -> Check:
    """Return whether the running kernel itself can run trials: namespaces, and the parts of a wire."""
    try:
        kernel = running.find()
    except running.Blocked as blocked:
        return Check("running kernel", None, blocked.blocker, f"{blocked.cure}; {running.INSTEAD} works without it")
    return Check("running kernel", True, f"{platform.release()} carries trials (--on host) {kernel.way}")


def _vm() -> list[Check]:
    """Return whether distribution kernels run under QEMU, and with which clock.

    The existence of a KVM device alone is no proof.
    """
    try:
        found, blocker = qemu.version(), qemu.counted()
    except LabError as error:
        return [Check("QEMU", None, str(error).partition(":")[0], "sudo apt-get install qemu-system-x86 zstd")]
    if blocker:
        return [Check("QEMU", None, f"{found} does not count instructions: {blocker}", "install a different QEMU")]
    try:
        stock.steady()
    except LabError as error:
        lacks, _, cure = str(error).rpartition(": ")
        return [Check("QEMU", None, lacks, cure)]
    works = Check("QEMU", True, f"{found} counts instructions: --on vm has virtual time")
    kernels = stock.installed()
    if not kernels:
        return [works, Check("stock kernel", None, "no kernel of the distribution is here", "lab kernel fetch")]
    names = Check("stock kernel", True, ", ".join(f"{kernel.name} ({kernel.version})" for kernel in kernels))
    blocker = kernels[0].kvm()
    if blocker:
        cure = "none inside most virtual machines; elsewhere enable virtualisation in the firmware, and join group kvm"
        return [works, names, Check("KVM", None, f"{blocker}: --on vm has no real time", cure)]
    return [works, names, Check("KVM", True, f"boots {kernels[0].name}: --on vm has real time, too")]


def _ask(argv: Sequence[str]) -> tuple[int | None, str]:
    """Run a command, and return its exit status and its output. The status is None if the command is missing or too
    slow.
    """
    with tempfile.TemporaryFile("w+") as said:
        try:
            command = [tools.find_program(argv[0]) or argv[0], *argv[1:]]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        except FileNotFoundError:
            return None, f"{argv[0]} is not installed"
        except OSError as error:
            return None, f"{argv[0]}: {error.strerror}"
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # a process that is stuck in the kernel does not end
                process.wait(1)
            return None, f"no answer within {SECONDS:g} s"
        said.seek(0)
        return status, said.read().strip()


def _gib(size: Size) -> str:
    return f"{size.bytes / 2**30:.1f} GiB"
