"""Run a packetdrill script: packets, system calls, their times, and the answers that the kernel must give."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

from msgspec import structs

from lab.guest import outputs
from lab.guest.task import Reader, Task, Writer, no_folder
from lab.guest.testbed import Testbed, WorkloadError, ended
from lab.guest.workload.program import check_name, content
from lab.units import Duration

__all__ = ["PROGRAM", "IpVersion", "Packetdrill"]

IpVersion = Literal["ipv4", "ipv6", "ipv4-mapped-ipv6"]

PROGRAM = "packetdrill"  # in the folder of the programs that were compiled for the trial
FOLDER = Path("/tmp/replab-packetdrill")
STOP_SECONDS = 5.0
CLONE_NEWNET = 0x40000000
PR_SET_TIMERSLACK = 29
_V4 = ("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0", "--remote_ip=192.0.2.1")
_V6 = ("--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1", "--gateway_ip=fd3d:0a0b:17d6:8888::1")
_COOKIE_V4 = {"TFO_COOKIE": "3021b9d889017eeb", "TFO_COOKIE_ZERO": "b7c12350a90dc8f5"}
_COOKIE_V6 = {"TFO_COOKIE": "c1d1e9742a47a9bc", "TFO_COOKIE_ZERO": "82af1a8f9a205c34"}
_ERRORS_V4 = {"CMSG_LEVEL_IP": "SOL_IP", "CMSG_TYPE_RECVERR": "IP_RECVERR"}
_ERRORS_V6 = {"CMSG_LEVEL_IP": "SOL_IPV6", "CMSG_TYPE_RECVERR": "IPV6_RECVERR"}

# The settings of the kernel's own runner of these scripts, ksft_runner.sh: addresses, and names that the scripts use.
SETTINGS: dict[IpVersion, tuple[tuple[str, ...], dict[str, str]]] = {
    "ipv4": (_V4, _COOKIE_V4 | _ERRORS_V4),
    "ipv6": ((*_V6, "--remote_ip=fd3d:fa7b:d17d::1"), _COOKIE_V6 | _ERRORS_V6),
    "ipv4-mapped-ipv6": (_V4, _COOKIE_V4 | _ERRORS_V6),
}


class Packetdrill(Task, frozen=True):
    """Runs `script` on `host` once for each IP version in `versions`, each time in a new network namespace.

    The script, and the `files` that it starts, are in the experiment's folder. packetdrill's output is stored for each
    version, with the time of every event. packetdrill.json has the exit status for each version. A trial does not fail
    if its script fails.
    """

    script: str
    versions: tuple[IpVersion, ...] = ("ipv4", "ipv6", "ipv4-mapped-ipv6")
    files: tuple[str, ...] = ()
    host: str = "host"
    limit: Duration = Duration.of("600 s")  # of the trial's clock, for each version
    contents: dict[str, str] = {}  # of the script and the files, compressed

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (self.script, *self.files):
            check_name(name)
        if not self.versions:
            raise ValueError("there is no version of IP: name at least one")

    @property
    def client(self) -> str:
        """The host. packetdrill plays both ends: the host is one end, and the script is the other end."""
        return self.host

    @property
    def server(self) -> str:
        """The host. packetdrill plays both ends."""
        return self.host

    @property
    def ip(self) -> int:
        """The IP version, 4 or 6, of the first entry in `versions`."""
        return 6 if self.versions[0] == "ipv6" else 4

    @property
    def greedy(self) -> bool:
        """False, because the script decides the packets."""
        return False

    def writer(self) -> Writer:
        """Return an unknown way of writing, because the script decides how the sender writes."""
        return Writer(duration=self.limit)

    def reader(self) -> Reader:
        """Return an unknown way of reading, because the script decides how the receiver reads."""
        return Reader()

    def with_files(self, read: Callable[[str], bytes], _: Callable[[str], Iterable[str]] = no_folder, /) -> Self:
        """Return the workload with the contents of the script and its files. Raises the errors of `read`."""
        packed = {name: base64.b64encode(zlib.compress(read(name), 9)).decode() for name in (self.script, *self.files)}
        return structs.replace(self, contents=packed)

    def run(self, testbed: Testbed) -> None:
        """Run the script for each version. Raises WorkloadError if packetdrill cannot be started."""
        FOLDER.mkdir(parents=True)
        for name in (self.script, *self.files):
            (FOLDER / name).write_bytes(content(self.contents, name))
            (FOLDER / name).chmod(0o755)
        program = (testbed.compiled / PROGRAM).resolve()
        if not program.exists():
            raise WorkloadError("packetdrill was not built for this trial")
        ends = [{"version": version, "status": self._perform(program, version, testbed)} for version in self.versions]
        (testbed.out / outputs.PACKETDRILL).write_text(json.dumps(ends, indent=1) + "\n")

    def _perform(self, program: Path, version: IpVersion, testbed: Testbed) -> int | None:
        """Return the exit status, or minus the number of the signal that ended the script, or None if it ran out of
        time.
        """
        settings, names = SETTINGS[version]
        defined = [f"-D{name}={value}" for name, value in names.items()]
        argv = [str(program), f"--ip_version={version}", *settings, *defined, "--verbose", self.script]
        files = [testbed.out.resolve() / outputs.packetdrill(version, stream) for stream in ("out", "err")]
        for file in files:
            file.touch()
        child = testbed.spawn(self.host, lambda: _become(argv, *files))
        late = not ended(child.pid, self.limit.seconds)
        with suppress(ProcessLookupError):  # a script's background processes must not affect the next version
            os.killpg(child.pid, signal.SIGKILL)
        ended(child.pid, STOP_SECONDS)
        status = child.poll()
        return None if late else status


def _become(argv: list[str], out: Path, err: Path) -> None:
    """Replace this process with the program, in a new session and a new network namespace."""
    os.setsid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no network namespace")
    libc.prctl(PR_SET_TIMERSLACK, 1)  # ns: with the default of 50 us, each wait of the script would end that much later
    os.chdir(FOLDER)
    for file, fd in ((out, 1), (err, 2)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_TRUNC), fd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execv(argv[0], argv)
