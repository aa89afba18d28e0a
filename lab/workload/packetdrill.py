"""Run a packetdrill script: packets and system calls, when each comes, and what the kernel has to answer."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

from msgspec import structs

from lab import outputs
from lab.spec.task import Reader, Task, Writer
from lab.testbed import Testbed, WorkloadError, ended
from lab.units import Duration
from lab.workload.program import content

__all__ = ["PROGRAM", "IpVersion", "Packetdrill"]

IpVersion = Literal["ipv4", "ipv6", "ipv4-mapped-ipv6"]

PROGRAM = "packetdrill"  # in the folder of what was compiled for the trial
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

# What the kernel's own runner of these scripts, ksft_runner.sh, sets: addresses, and what the scripts call by a name.
SETTINGS: dict[IpVersion, tuple[tuple[str, ...], dict[str, str]]] = {
    "ipv4": (_V4, _COOKIE_V4 | _ERRORS_V4),
    "ipv6": ((*_V6, "--remote_ip=fd3d:fa7b:d17d::1"), _COOKIE_V6 | _ERRORS_V6),
    "ipv4-mapped-ipv6": (_V4, _COOKIE_V4 | _ERRORS_V6),
}


class Packetdrill(Task, frozen=True):
    """Runs `script` on `host` by each of `versions` of IP in turn, in a network namespace of its own each time.

    The script, and the `files` that it starts, lie beside the experiment. What packetdrill said is kept for each
    version, with the moment of every event; packetdrill.json has how each ended. A script that fails fails no trial.
    """

    script: str
    versions: tuple[IpVersion, ...] = ("ipv4", "ipv6", "ipv4-mapped-ipv6")
    files: tuple[str, ...] = ()
    host: str = "host"
    limit: Duration = Duration.of("600 s")  # of the trial's clock, for each version
    contents: dict[str, str] = {}  # of the script and the files, compressed

    @property
    def client(self) -> str:
        """Both ends are packetdrill's: the host is one, the script the other."""
        return self.host

    @property
    def server(self) -> str:
        """Both ends are packetdrill's."""
        return self.host

    @property
    def ip(self) -> int:
        """The version that comes first."""
        return 6 if self.versions[0] == "ipv6" else 4

    @property
    def greedy(self) -> bool:
        """It sends what its script says."""
        return False

    def writer(self) -> Writer:
        """How it writes is the script's affair."""
        return Writer(duration=self.limit)

    def reader(self) -> Reader:
        """How it reads is the script's affair."""
        return Reader()

    def with_files(self, read: Callable[[str], bytes], /) -> Self:
        """Return it with the contents of the script and its files. Raises what `read` raises."""
        packed = {name: base64.b64encode(zlib.compress(read(name), 9)).decode() for name in (self.script, *self.files)}
        return structs.replace(self, contents=packed)

    def run(self, testbed: Testbed) -> None:
        """Run the script by each version. Raises WorkloadError when packetdrill cannot be started."""
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
        """Return the exit status; minus the number of the signal that ended it, None when its time was up."""
        settings, names = SETTINGS[version]
        defined = [f"-D{name}={value}" for name, value in names.items()]
        argv = [str(program), f"--ip_version={version}", *settings, *defined, "--verbose", self.script]
        files = [testbed.out.resolve() / outputs.packetdrill(version, stream) for stream in ("out", "err")]
        for file in files:
            file.touch()
        child = testbed.spawn(self.host, lambda: _become(argv, *files))
        late = not ended(child.pid, self.limit.seconds)
        with suppress(ProcessLookupError):  # what a script left in the background must not meet the next version
            os.killpg(child.pid, signal.SIGKILL)
        ended(child.pid, STOP_SECONDS)
        status = child.poll()
        return None if late else status


def _become(argv: list[str], out: Path, err: Path) -> None:
    """Turn this process into the program, in a session and a network namespace of its own."""
    os.setsid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no network namespace")
    libc.prctl(PR_SET_TIMERSLACK, 1)  # ns: the usual 50 us would end each of the script's waits so much late
    os.chdir(FOLDER)
    for file, fd in ((out, 1), (err, 2)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_TRUNC), fd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execv(argv[0], argv)
