"""Run trials on the running kernel, in namespaces: `--on host`."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from lab.errors import InputError, MachineError
from lab.guest.clock import Clock, Place
from lab.machine.kernel.base import Kernel, Start
from lab.machine.kernel.configuration import max_header
from lab.machine.kernel.guest import Budget, GuestError, boot, scratch_guest_folder
from lab.machine.kernel.root import PACKAGE, Root
from lab.spec.variant import ResolvedVariant
from lab.units import Size

INSTEAD = "--on uml --clock real"
CLOCK_MONOTONIC_COARSE = 6  # moves at each tick
MODULES = "sch_netem sch_tbf sch_ingress cls_matchall cls_bpf act_mirred veth"
SWITCHES = {  # settings that forbid user namespaces, the value that does so, and the fix
    "kernel/unprivileged_userns_clone": ("0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    "user/max_user_namespaces": ("0", "sudo sysctl user.max_user_namespaces=10000"),
}
TRY = Budget(wall=30.0)


class Blocked(MachineError):
    """Raised if the running kernel cannot run trials. `blocker` is the reason, `cure` the fix."""

    def __init__(self, blocker: str, cure: str) -> None:
        super().__init__(f"--on host cannot run here: {blocker} (fix: {cure}); use {INSTEAD}")
        self.blocker, self.cure = blocker, cure


@dataclass(frozen=True, slots=True)
class RunningKernel:
    """Describes the running kernel, which runs trials in namespaces."""

    on: ClassVar[Place] = "host"
    clocks: ClassVar[tuple[Clock, ...]] = ("real",)
    name: ClassVar[str] = "running"

    version: str  # release and version as the kernel prints them, "6.12.9-amd64 #1 SMP ..."
    id: str  # hash of the version, the architecture and, if it can be read, the configuration
    hz: int  # ticks per second
    become: tuple[str, ...] = ()  # a command before ours that may make namespaces; () if we may make them
    max_header: int | None = None  # MAX_HEADER of that configuration

    def describe(self) -> dict[str, Any]:
        """Return the kernel's description for a trial. The description is the same after every boot."""
        plain = {"name": self.name, "version": self.version, "id": self.id, "hz": self.hz, "patches": []}
        return plain if self.max_header is None else {**plain, "max_header": self.max_header}

    def variant(self, wanted: ResolvedVariant) -> Kernel:
        """Return this kernel if the variant differs only in HZ and the kernel already has that HZ.

        Raises MachineError otherwise, because the running kernel cannot change.
        """
        if wanted == ResolvedVariant(hz=self.hz):
            return self
        raise MachineError(f"the running kernel has no variant with {wanted}; use {INSTEAD}")

    def lacks(self, queue: str) -> bool:  # noqa: ARG002
        """Return False: only a guest sees the kernel's modules, so the lab cannot tell before the trial."""
        return False

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:  # noqa: ARG002
        """Return the `Start` of a small machine that consists of namespaces.

        The machine shares the host's random number generator, and the host's memory without a limit.
        """
        script = ("-B", "-P", "-m", "lab.machine.kernel.host.namespaces")
        own = (os.path.realpath(sys.executable), *script)
        search = {"PYTHONPATH": str(PACKAGE)}
        if not self.become:
            return Start(own, search)
        other = (*self.become, "env", *(f"{name}={value}" for name, value in search.items()), *own)
        return Start((*own, *other), search)

    @property
    def way(self) -> str:
        """Return the way in which the kernel's trials create their namespaces."""
        if self.become:
            return f"by {Path(self.become[0]).name}"
        return "in a user namespace" if os.geteuid() else "as root"


def find(name: str | None = None) -> RunningKernel:
    """Return the running kernel, after building a wire on it as a test.

    Raises InputError if `name` does not name the running kernel, and Blocked with the first blocker and its fix.
    """
    system = os.uname()
    if name not in (None, RunningKernel.name, system.release):
        raise InputError(f"--kernel {name}: --on host has only the running kernel, {system.release}")
    version = f"{system.release} {system.version}"
    configured = _configuration(system.release)
    total = hashlib.sha256(f"{version} {system.machine}\0".encode() + configured)
    headers = max_header(configured.decode()) if configured else None
    hz = round(1 / time.clock_getres(CLOCK_MONOTONIC_COARSE))
    blocked = None
    for become in _ways():
        host = RunningKernel(version, total.hexdigest()[:16], hz, become, headers)
        try:
            _try(host)
        except Blocked as error:
            blocked = blocked or error
        else:
            return host
    assert blocked is not None
    raise blocked


def _configuration(release: str) -> bytes:
    for file, read in ((Path("/proc/config.gz"), gzip.decompress), (Path(f"/boot/config-{release}"), bytes)):
        try:
            return read(file.read_bytes())
        except OSError:
            continue
    return b""


def _ways() -> list[tuple[str, ...]]:
    """Return the ways to create namespaces: as this user and, unless this user is root, through sudo without a
    password.
    """
    sudo = shutil.which("sudo") if os.geteuid() else None
    return [(), (sudo, "-n")] if sudo else [()]


def _try(host: RunningKernel) -> None:
    """Build a wire in new namespaces as a test. Raises Blocked if this fails."""
    with scratch_guest_folder() as folder:
        command = [sys.executable, "-m", "lab.guest.fabric.selftest"]
        try:
            result = boot(host, folder, command, clock="real", budget=TRY)
        except GuestError as error:
            raise Blocked(_last_line(error.console) or error.args[0], _namespace_cure()) from None
        if result.status:
            raise Blocked(f"{host.version.split()[0]}: {_last_line(result.console)}", _module_cure())


def _last_line(console: Path) -> str:
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _namespace_cure() -> str:
    for switch, (forbids, cure) in SWITCHES.items():
        file = Path("/proc/sys") / switch
        if os.geteuid() and file.exists() and file.read_text().strip() == forbids:
            return cure
    return "run as root outside of a container" if os.geteuid() == 0 else "run as root, or allow sudo without password"


def _module_cure() -> str:
    if not Path("/lib/modules", os.uname().release).is_dir():
        return "none, it loads no modules"
    return f"sudo modprobe -a {MODULES} (on Ubuntu, of linux-modules-extra)"
