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

from lab.kernel import Budget, GuestCrash, GuestDisk, GuestMemory, UmlKernel, boot, landlock
from lab.units import Size

pytestmark = pytest.mark.guest

ROOT = Path(__file__).parents[2]
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
    """What became of the tries in tests/kernel/escaping.py, made by that user.

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
        [*prefix, str(python), str(seen / "tests" / "kernel" / "escaping.py"), kind, json.dumps(what)],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(public / "cache"), "PYTHONPATH": str(seen)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(landlock.abi() < 6, reason="the host's Landlock cannot refuse everything; docs/security.md says what")
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
