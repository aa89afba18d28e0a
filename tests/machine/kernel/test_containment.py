"""Nothing leads out of a guest: every way is tried, by root in a guest and by who controls its kernel, run by root and
by an ordinary user; and what a guest may use up is bounded.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import Budget, GuestCrash, GuestDisk, GuestMemory, UmlKernel, boot, landlock
from lab.units import Size

pytestmark = pytest.mark.guest

ROOT = Path(__file__).parents[3]
NOBODY = 65534
REFUSED = {"EACCES", "EPERM", "EXDEV", "EROFS"}
# Not refused by the host, but not there: a guest has its own loopback, processes and sockets.
ABSENT = {"ECONNREFUSED", "ESRCH", "ENOENT"}
GUESTS_OWN = ("connect by TCP", "send by UDP", "connect to a socket's file", "connect to an abstract socket")
OWN_PROCESSES = ("end a process", "trace a process")


@pytest.fixture
def public(kernel: UmlKernel) -> Iterator[Path]:
    """A folder that every user reaches, with a kernel in a cache."""
    folder = Path(tempfile.mkdtemp(prefix="replab-test-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        shutil.copytree(kernel.path.parent, folder / "cache" / "replab" / "kernels" / kernel.path.parent.name)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["root", "nobody"])
def user(request: pytest.FixtureRequest) -> int:
    """Who runs the lab; without root only who runs the tests."""
    if os.getuid() != 0:
        if request.param == "root":
            pytest.skip("only root can run something as root")
        return os.getuid()
    return 0 if request.param == "root" else NOBODY


@contextlib.contextmanager
def host(public: Path, user: int) -> Iterator[dict[str, Any]]:
    """What that user has on the host, and a guest must not reach."""
    private = public / "private"
    private.mkdir()
    (private / "secret").write_text("secret")
    name = f"replab-test-{os.getpid()}"
    shared = Path("/dev/shm") / name
    shared.write_text("secret")
    for path in (private, private / "secret", shared):
        os.chown(path, user, user)
    with contextlib.ExitStack() as undo:
        undo.callback(shared.unlink)
        tcp = undo.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = undo.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        named, abstract = (undo.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        named.bind(str(private / "listens"))
        abstract.bind(f"\0{name}")
        for each in (named, abstract):
            each.listen()
        os.chown(private / "listens", user, user)
        victim = subprocess.Popen(["sleep", "600"], user=user if os.getuid() == 0 else None)
        undo.callback(victim.wait)
        undo.callback(victim.kill)
        yield {
            "private": str(private),
            "victim": victim.pid,
            "shared": name,
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "abstract": name,
        }
        assert victim.poll() is None, "the victim was ended"
        assert sorted(path.name for path in private.iterdir()) == ["listens", "secret"]
        assert ((private / "secret").read_text(), shared.read_text()) == ("secret", "secret")
        assert (private / "secret").stat().st_mode & 0o777 == 0o644
        assert not shared.with_name(f"{name}.new").exists()
        with pytest.raises(BlockingIOError):
            udp.recv(1)


def escape(kind: str, user: int, public: Path, there: dict[str, Any]) -> dict[str, Any]:
    """What became of the tries in tests/machine/kernel/escaping.py, made by that user.

    The project is shown to it in another place, since the user may not reach where it really is (below /root, say).
    """
    folder, project = public / "home" / "trial", public / "project"
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        os.chown(path, user, user)
    project.mkdir()
    start = f'mount --bind "{ROOT}" "{project}" && exec setpriv --reuid={user} --regid={user} --clear-groups "$@"'
    prefix = ["unshare", "--mount", "sh", "-c", start, "sh"] if os.getuid() == 0 else []
    seen = project if prefix else ROOT
    python = Path(sys.executable)
    if python.is_relative_to(ROOT):
        python = seen / python.relative_to(ROOT)
    [kernel] = (public / "cache" / "replab" / "kernels").glob("*/kernel.json")
    what = {**there, "lab": str(seen / "lab"), "kernel": str(kernel)}
    done = subprocess.run(
        [*prefix, str(python), str(seen / "tests" / "machine" / "kernel" / "escaping.py"), kind, json.dumps(what)],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(public / "cache"), "PYTHONPATH": str(seen)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(bool(landlock.gaps(landlock.abi())), reason="the host's Landlock cannot refuse everything")
@pytest.mark.parametrize("kind", ["guest", "kernel"])
def test_no_way_leads_out(kind: str, user: int, public: Path) -> None:
    with host(public, user) as there:
        answer = escape(kind, user, public, there)
    found = answer["found"]
    assert len(found) >= 35, "the tries were made"
    assert found.pop("write its own file") == "done"
    if kind == "guest":  # these end in the guest's own kernel
        for name in (*GUESTS_OWN, *OWN_PROCESSES):
            assert found.pop(name) in ABSENT, name
    assert {name: outcome for name, outcome in found.items() if outcome not in REFUSED} == {}
    assert answer["contained"] == f"by Landlock {landlock.abi()} and seccomp"


# -- what a guest may use up


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "trial"
    folder.mkdir()
    return folder


def test_a_full_folder_ends_the_guest(kernel: UmlKernel, folder: Path) -> None:
    """The supervisor looks every fifth of a second; what is written meanwhile is not much more."""
    script = "i=0; while :; do head -c 1000000 /dev/zero > $i || exit; i=$((i + 1)); done"
    with pytest.raises(GuestDisk, match="more than 64 MiB to its folder"):
        boot(kernel, folder, ["sh", "-c", script], budget=Budget(disk=Size.of("64 MiB")))
    assert sum(file.stat().st_size for file in folder.iterdir()) < 4 << 30


def test_many_empty_files_are_not_free(kernel: UmlKernel, folder: Path) -> None:
    script = "import itertools\nfor number in itertools.count(): open(str(number), 'x').close()"
    with pytest.raises(GuestDisk, match="more than 4 MiB"):
        boot(kernel, folder, [sys.executable, "-c", script], budget=Budget(disk=Size.of("4 MiB")))


def test_a_file_that_grows_too_long_is_an_error_in_the_guest_and_no_result(kernel: UmlKernel, folder: Path) -> None:
    script = """
import errno, os
file = os.open("sparse", os.O_WRONLY | os.O_CREAT)
try:
    os.pwrite(file, b"!", (1 << 30) - 1)
except OSError as error:
    print("heard", errno.errorcode[error.errno])
"""
    budget = Budget(disk=Size.of("600 MiB"))
    with pytest.raises(GuestDisk, match="File too large") as failed:  # whatever the program makes of it
        boot(kernel, folder, [sys.executable, "-c", script], budget=budget)
    assert "heard EFBIG" in failed.value.console.read_text()


def test_memory_is_the_guests_own(kernel: UmlKernel, folder: Path) -> None:
    """A program that takes ever more ends the guest when the guest's is used up, not the host's."""
    script = "kept = []\nwhile True: kept.append(bytes(1 << 20))"
    with pytest.raises(GuestMemory, match="more memory than its 128 MiB"):
        boot(kernel, folder, [sys.executable, "-c", script], memory=Size.of("128 MiB"))


FORKS = """
import os, time
while True:
    if os.fork() == 0:
        time.sleep(1000)
"""


def test_forks_without_end_use_up_the_guest(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(GuestMemory, match="more memory than its 128 MiB"):
        boot(kernel, folder, [sys.executable, "-c", FORKS], memory=Size.of("128 MiB"))


def test_too_many_processes_end_the_guest(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(GuestCrash, match="more than 50 processes"):
        boot(kernel, folder, [sys.executable, "-c", FORKS], budget=Budget(processes=50), clock="real")


# -- what the host reads of a guest is not trusted


@pytest.mark.parametrize(
    "script",
    [
        "echo nonsense > boot/status",
        "echo '[]' > boot/status",
        'echo \'{"status": {}, "guest_ns": 0, "error": 0}\' > boot/status',
        "rm -r boot",
        "rm -r boot; mkdir boot; mkdir boot/status",
        "mv boot elsewhere",
    ],
)
def test_a_guest_that_meddles_with_its_end_is_a_crash(kernel: UmlKernel, folder: Path, script: str) -> None:
    end = f"{script}; mount -t proc proc /proc; echo o > /proc/sysrq-trigger; kill -9 1; python3 -c '{STOP}'"
    with pytest.raises(GuestCrash, match="ended before its command did"):
        boot(kernel, folder, ["sh", "-c", end])
    assert not (folder / "boot").exists()


STOP = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"
