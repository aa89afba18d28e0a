"""Find out what works on this machine, and the exact blocker and cure of what does not. All is tried, not guessed."""

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

from rich.table import Table
from rich.text import Text

from lab.errors import LabError
from lab.kernel import HOST_MEMORY, guest, landlock
from lab.kernel.forbidden import NEEDS, forbidden
from lab.kernel.host import running
from lab.kernel.uml import cache
from lab.kernel.vm import qemu, stock
from lab.runner import tools
from lab.runner.code import sealed
from lab.units import Size
from lab.userland import cache as userlands

__all__ = ["Check", "render", "report"]

MEMORY = Size.of("512 MiB")  # of one guest; there is one per CPU
DISK = Size.of("1 GiB")  # for the captures of all claims
SECONDS = 60.0  # for anything that may hang; a guest is up in a tenth of a second, unless its processor is emulated
NEWEST_LANDLOCK = "6.12"  # the first with all that is used of it
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
    """Say what one check found."""

    name: str
    ok: bool | None  # False: the default way to run trials (`--on uml`) fails for it; None: only something else does
    detail: str  # what was found, or the exact blocker
    cure: str = ""  # what to do about it; "" when nothing is amiss


def report(results: Path = Path("results")) -> list[Check]:
    """Run every check, in the order in which a person would mend things. `results` is where records will be kept."""
    calls = _calls()
    own = [_python(), _cpus(), _memory(), _disk(results), calls, _userland(), *_kernel(calls)]
    return [*own, _host(), *_tools(), _mininet(), *_vm()]


def render(checks: Sequence[Check]) -> Table:
    """Show the checks on a terminal of 80 columns; a cure stands below what it cures."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        mark, style = {True: ("ok", "green"), False: ("no", "red"), None: ("-", "yellow")}[check.ok]
        text = Text(check.detail)
        if check.cure:
            text.append(f"\ncure: {check.cure}", "bold")
        table.add_row(Text(mark, style), check.name, text)
    return table


def _python() -> Check:
    return Check("python", True, f"{platform.python_version()}, {sys.executable}")


def _cpus() -> Check:
    count = len(os.sched_getaffinity(0))
    return Check("CPUs", True, f"{count}: as many trials run side by side")


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
    free = Size(shutil.disk_usage(HOST_MEMORY).free) if HOST_MEMORY.is_dir() else Size(0)
    if free.bytes >= wanted.bytes:
        return Check(str(HOST_MEMORY), True, f"{_gib(free)} free for the memory of guests")
    blocker = f"{_gib(free)} free, {_gib(wanted)} wanted: the memory of guests will lie on the disk, and be slower"
    cure = f"sudo mount -o remount,size={wanted.bytes >> 20}M {HOST_MEMORY}, or --jobs 1"
    return Check(str(HOST_MEMORY), None, blocker, cure)


def _calls() -> Check:
    """Check whether something, as a container's seccomp profile, forbids the system calls that guests need."""
    found = forbidden()
    if not found:
        return Check("system calls", True, "all that guests need are allowed")
    told = "; ".join(f"without {name} {NEEDS[name]}" for name in found)
    works = not any("do not start" in NEEDS[name] for name in found if name != "ptrace")
    cure = "docker or podman run --security-opt seccomp=unconfined, or =FILE of a profile that allows them"
    return Check("system calls", None if works else False, f"forbidden here: {told}", cure)


def _disk(results: Path) -> Check:
    place = results.resolve()
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK):
        return Check("results", False, f"{place} cannot be written to", "choose another place with --results DIR")
    free = Size(shutil.disk_usage(place).free)
    if free.bytes < DISK.bytes:
        blocker = f"{_gib(free)} free in {place}, {_gib(DISK)} wanted"
        return Check("results", False, blocker, "make room, or choose another place with --results DIR")
    return Check("results", True, f"{_gib(free)} free in {place}")


def _userland() -> Check:
    """Check whether the guests' userland is here, and every byte of it as it was made."""
    try:
        found = userlands.find("guest")
    except LabError as error:
        return Check("userland", False, str(error), "lab userland build (a minute, and 69 MB from a mirror)")
    altered = found.altered()
    if altered:
        more = f" and {len(altered) - 1} more" if altered[1:] else ""
        cure = f"make it anew: rm -r {found.tree.parent}, then lab userland build"
        return Check("userland", False, f"{altered[0]}{more} in {found.tree} was altered", cure)
    return Check("userland", True, f"{found.id}, every byte as it was made")


def _kernel(calls: Check) -> list[Check]:
    """Check whether a kernel under test is built, and whether it boots, as far as the system calls allow it."""
    try:
        kernel = cache.find()
    except LabError as error:
        cure = "lab kernel build (about 5 minutes on 2 CPUs)"
        return [Check("kernel", False, str(error), cure), Check("guest", False, "there is no kernel to boot", cure)]
    built = Check("kernel", True, f"{kernel.name} ({kernel.version}, {kernel.hz} Hz, {kernel.id[:12]})")
    anew = f"build it anew: rm -r {kernel.path.parent}, then lab kernel build"
    cure = calls.cure if calls.ok is False else anew
    with guest.scratch_guest_folder() as folder:
        try:
            root = sealed(userlands.find("guest").id)
            result = guest.boot(kernel, folder, ["true"], memory=MEMORY, budget=guest.Budget(wall=SECONDS), root=root)
        except LabError as error:
            return [built, Check("guest", False, _last_words(error), cure)]
    if result.status != 0:
        return [built, Check("guest", False, f"it ended with status {result.status}", cure)]
    boots = Check("guest", True, f"boots, and is gone again, in {result.wall_seconds:.2f} s")
    return [built, boots, _containment(result.contained)]


def _containment(how: str) -> Check:
    """Say how far guests are confined. Trials run in any case."""
    if gaps := landlock.gaps(landlock.abi()):
        what = "guests are not contained" if landlock.abi() == 0 else "guests are contained but for some"
        cure = f"a host with Linux {NEWEST_LANDLOCK} or newer and Landlock among its LSMs (lsm=landlock,...)"
        return Check("containment", None, f"{what}: {', '.join(gaps)} ({how})", cure)
    return Check("containment", True, f"guests are contained {how}")


def _last_words(error: LabError) -> str:
    """Return the error with the console's last line instead of the log's path: the folder is about to go."""
    if not isinstance(error, guest.GuestError):
        return str(error)
    said = str(error).partition("; its console is in")[0]
    lines = error.console.read_text(encoding="utf-8", errors="replace").split("\n") if error.console.exists() else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{said}; its last words: {last}" if last else said


def _host() -> Check:
    """Check whether the running kernel itself carries trials: namespaces, and the parts of a wire."""
    try:
        kernel = running.find()
    except running.Blocked as blocked:
        return Check("running kernel", None, blocked.blocker, f"{blocked.cure}; {running.INSTEAD} does without")
    return Check("running kernel", True, f"{platform.release()} carries trials (--on host) {kernel.way}")


def _vm() -> list[Check]:
    """Check whether distribution kernels run under QEMU, and by which clock. A device by itself proves nothing."""
    try:
        found, blocker = qemu.version(), qemu.counted()
    except LabError as error:
        return [Check("QEMU", None, str(error).partition(":")[0], "sudo apt-get install qemu-system-x86 zstd")]
    if blocker:
        return [Check("QEMU", None, f"{found} does not count instructions: {blocker}", "none but another QEMU")]
    try:
        stock.turns()
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
    """Run a command; return its exit status and what it said. The status is None when it is missing or too slow."""
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
            with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel, it would not go
                process.wait(1)
            return None, f"no answer within {SECONDS:g} s"
        said.seek(0)
        return status, said.read().strip()


def _gib(size: Size) -> str:
    return f"{size.bytes / 2**30:.1f} GiB"
