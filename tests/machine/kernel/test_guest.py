"""A guest is a small machine of its own, the same in every folder and under every user, and it never outlives us."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lab.errors import InputError, MachineError
from lab.machine.kernel import (
    Budget,
    Guest,
    GuestCrash,
    GuestDeadlock,
    GuestDisk,
    GuestEnded,
    GuestHost,
    GuestLivelock,
    GuestMemory,
    GuestTimeout,
    UmlKernel,
    boot,
)
from lab.machine.kernel.root import PACKAGE
from lab.machine.kernel.uml import start
from lab.units import Size

pytestmark = pytest.mark.guest

Busy = Callable[[], AbstractContextManager[None]]

DICE = """
import os, random, subprocess, time, socket
print(os.urandom(64).hex(), random.random(), time.time_ns(), time.monotonic_ns(), hash("x"), os.getpid())
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname(), os.uname(), open("/proc/cmdline").read(), open("/proc/mounts").read())
time.sleep(3.21)
print(subprocess.run(["date", "+%s.%N"], capture_output=True).stdout, id(server))
"""
WRECK = """
import re
start, end = re.search(r"(\\w+)-(\\w+).*\\[stack\\]", open("/proc/1/maps").read()).groups()
with open("/proc/1/mem", "r+b") as memory:
    memory.seek(int(start, 16))
    memory.write(bytes(int(end, 16) - int(start, 16)))
"""
SPIN = "while :; do :; done"
SCRIPT = """\
import sys
from pathlib import Path
from lab.machine.kernel import UmlKernel, boot
kernel = UmlKernel("7.2", "7", "0" * 16, 1000, (), Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "True")
boot(kernel, Path(sys.argv[4]), sys.argv[6:], seed=int(sys.argv[5]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "trial"
    folder.mkdir()
    return folder


def sh(kernel: UmlKernel, folder: Path, script: str, **options: object) -> str:
    """What a script leaves in `folder`/out. Its status must be 0."""
    result = boot(kernel, folder, ["sh", "-ec", f"{{ {script}\n}} > out 2>&1"], **options)  # type: ignore[arg-type]
    text = (folder / "out").read_text()
    assert result.status == 0, text
    return text


def command(kernel: UmlKernel, folder: Path, *argv: str, seed: int = 1) -> list[str]:
    start = [
        "env",
        f"PYTHONPATH={PACKAGE}",
        sys.executable,
        "-c",
        SCRIPT,
        str(kernel.path),
        str(kernel.clock),
        str(kernel.seccomp),
    ]
    return [*start, str(folder), str(seed), *argv]


def processes(folder: Path) -> list[int]:
    """The host's processes that belong to a guest of this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink() == folder and entry.name != str(os.getpid()):
                found.append(int(entry.name))
    return found


def eventually(condition: object, seconds: float = 5.0) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# -- a machine of its own


def test_exit_status_and_output_come_back(kernel: UmlKernel, folder: Path) -> None:
    result = boot(kernel, folder, ["sh", "-c", "echo hello; echo kept > file; exit 7"])
    assert result.status == 7
    assert "\nhello\n" in result.console.read_text()
    assert (folder / "file").read_text() == "kept\n"
    assert sorted(path.name for path in folder.iterdir()) == ["console.log", "file"]


@pytest.mark.parametrize(("script", "status"), [("kill -9 $$", 137), ("exec /absent", 127)])
def test_status_is_as_a_shell_says_it(kernel: UmlKernel, folder: Path, script: str, status: int) -> None:
    assert boot(kernel, folder, ["sh", "-c", script]).status == status


def test_an_unknown_command_is_127(kernel: UmlKernel, folder: Path) -> None:
    result = boot(kernel, folder, ["no-such-command"])
    assert result.status == 127
    assert "no-such-command: No such file or directory" in result.console.read_text()


def test_the_host_is_read_only_and_the_rest_is_private(kernel: UmlKernel, folder: Path) -> None:
    script = """
    for place in /usr /etc /var /home; do ! touch $place/x 2>/dev/null; done
    for place in /tmp /run /dev/shm /run/lab /run/netns; do touch $place/x; done
    hostname; ls /sys/fs/cgroup/cgroup.procs /dev/pts/ptmx; echo x > /dev/null; cat /sys/class/net/lo/flags
    id -u; pwd; ! test -e /tmp/replab-outside
    """
    outside = Path("/tmp/replab-outside")
    outside.touch()
    try:
        text = sh(kernel, folder, script)
    finally:
        outside.unlink()
    assert text.split() == ["lab", "/dev/pts/ptmx", "/sys/fs/cgroup/cgroup.procs", "0x9", "0", "/run/lab"]
    assert not Path("/run/netns/x").exists()


def test_lab_and_its_libraries_are_there_in_the_guest(kernel: UmlKernel, folder: Path) -> None:
    sh(kernel, folder, f"{sys.executable} -c 'import lab.units, msgspec'")


def test_environment_is_fixed(kernel: UmlKernel, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    names = {line.partition("=")[0] for line in sh(kernel, folder, "env", environment={"MORE": "2"}).splitlines()}
    assert {"PATH", "HOME", "LANG", "TZ", "MORE"} <= names
    assert "SECRET" not in names


# -- time


def test_virtual_time_costs_nothing(kernel: UmlKernel, folder: Path) -> None:
    result = boot(kernel, folder, ["sleep", "100"])
    assert 100 <= result.guest_seconds < 100.1
    assert result.wall_seconds < 5


def test_real_time_is_real(kernel: UmlKernel, folder: Path) -> None:
    before = time.time()
    text = sh(kernel, folder, "sleep 0.5; date +%s; cat /proc/cmdline", clock="real")
    seconds, line = text.split(maxsplit=1)
    assert abs(int(seconds) - before) < 10
    assert "time-travel" not in line


def test_an_empty_guest_is_quick(kernel: UmlKernel, folder: Path) -> None:
    start = time.monotonic()
    boot(kernel, folder, ["true"])
    assert time.monotonic() - start < 1.5


# -- determinism


def dice(kernel: UmlKernel, folder: Path, seed: int) -> bytes:
    result = boot(kernel, folder, ["python3", "-c", DICE], seed=seed)
    return result.console.read_bytes().partition(b"as init process\n")[2]


def test_same_seed_same_bytes_even_on_a_busy_machine(kernel: UmlKernel, tmp_path: Path, busy: Busy) -> None:
    folders = [tmp_path / "one", tmp_path / "another-with-a-longer-name"]
    for folder in folders:
        folder.mkdir()
    first = dice(kernel, folders[0], 1)
    with busy():
        second = dice(kernel, folders[1], 1)
    assert first == second
    assert b"python3" not in first
    assert first.count(b"\n") > 10


def test_another_seed_other_bytes(kernel: UmlKernel, tmp_path: Path) -> None:
    outputs = set()
    for seed in (1, 2, 2**64 - 1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outputs.add(dice(kernel, folder, seed))
    assert len(outputs) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_gets_the_same_bytes(kernel: UmlKernel, folder: Path) -> None:
    expected = dice(kernel, folder, 3)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        open_folder = Path(name)
        copy = open_folder / "linux"
        shutil.copy(kernel.path, copy)
        (open_folder / "trial").mkdir()
        for path, mode in ((open_folder, 0o755), (copy, 0o755), (open_folder / "trial", 0o777)):
            path.chmod(mode)
        moved = dataclasses.replace(kernel, path=copy)
        argv = command(moved, open_folder / "trial", "python3", "-c", DICE, seed=3)
        done = subprocess.run(argv, user=65534, group=65534, extra_groups=[], cwd="/", capture_output=True, text=True)
        if "Permission denied" in done.stderr or "No module named" in done.stderr:
            pytest.skip("an ordinary user cannot read this checkout")
        assert done.returncode == 0, done.stderr
        actual = (open_folder / "trial" / "console.log").read_bytes()
    assert actual.partition(b"as init process\n")[2] == expected


# -- what goes wrong


def children(pid: int) -> list[int]:
    """The processes that one of the host's has started."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def test_a_livelock_is_noticed(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(GuestLivelock, match=r"its clock still showed .* its console is in .*console.log") as info:
        boot(kernel, folder, ["sh", "-c", SPIN], budget=Budget(stall=1))
    assert "as init process" in info.value.console.read_text()
    assert [path.name for path in folder.iterdir()] == ["console.log"]


def test_a_guest_that_waits_for_a_process_which_never_answers_is_noticed(kernel: UmlKernel, folder: Path) -> None:
    """The kernel waits for the host's process that plays the guest's; stopped or killed, that may never answer."""
    with Guest(kernel, folder, ["sh", "-c", f"touch /run/lab/spins; {SPIN}"], budget=Budget(stall=None)) as guest:
        while not (folder / "spins").exists():
            time.sleep(0.01)
        (kernel_itself,) = children(guest._supervisor.pid)
        for pid in children(kernel_itself):
            os.kill(pid, signal.SIGSTOP)
        with pytest.raises(GuestDeadlock, match=r"hangs: at \d+\.\d+ s of its time it waits, and none of its"):
            guest.wait()


def test_real_time_has_a_wall_clock_budget(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(GuestTimeout, match=r"within 1 s;"):
        boot(kernel, folder, ["sleep", "60"], clock="real", budget=Budget(wall=1))


def test_virtual_time_has_a_budget_too(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(GuestTimeout, match=r"within 3600 s of its time"):
        boot(kernel, folder, ["sleep", "infinity"], budget=Budget(guest=3600, wall=60))


def test_memory_of_the_guest_runs_out(kernel: UmlKernel, folder: Path) -> None:
    eat = "tail /dev/zero"
    with pytest.raises(GuestMemory, match=r"more memory than its 64 MiB"):
        boot(kernel, folder, ["sh", "-c", eat], memory=Size.of("64 MiB"), budget=Budget(stall=60))


def test_memory_of_the_host_is_looked_at_first(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(MachineError, match=r"no room for the guest's memory of 1048576 GiB"):
        boot(kernel, folder, ["true"], memory=Size.of("1048576 GiB"))


def test_a_panic_is_quoted(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(GuestCrash, match=r"panicked: Attempted to kill init!"):
        boot(kernel, folder, ["python3", "-c", WRECK])


def test_a_killed_guest_is_the_hosts_fault(kernel: UmlKernel, folder: Path) -> None:
    with Guest(kernel, folder, ["sh", "-c", SPIN]) as guest:
        assert eventually(lambda: processes(folder))
        os.kill(min(processes(folder)), signal.SIGKILL)
        with pytest.raises(GuestHost, match="killed by SIGKILL: the host ran out of memory, or a user killed it"):
            guest.wait()
    assert eventually(lambda: not processes(folder))


@contextlib.contextmanager
def small_disk(folder: Path, options: str) -> Iterator[None]:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "small", str(folder)], check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_memory_of_the_host_runs_out(
    kernel: UmlKernel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    monkeypatch.setattr(start, "_memory_folder", lambda *_: small)
    with small_disk(small, "size=60m"), pytest.raises(GuestHost, match="host has no room left"):
        boot(kernel, folder, ["tail", "/dev/zero"])


@pytest.mark.parametrize("options", ["size=60m", "size=4g,noexec", "size=4g,ro"])
def test_memory_lies_on_the_disk_where_the_hosts_takes_none(
    options: str, kernel: UmlKernel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers have 64 MiB of /dev/shm, and nothing in it may be run."""
    small = tmp_path / "small"
    small.mkdir()
    monkeypatch.setattr(start, "HOST_MEMORY", small)
    with small_disk(small, options):
        assert boot(kernel, folder, ["sh", "-c", "exit 7"]).status == 7


def test_a_kernel_that_the_host_does_not_start_is_the_hosts_fault(
    kernel: UmlKernel, folder: Path, tmp_path: Path
) -> None:
    locked = tmp_path / "linux"
    shutil.copy(kernel.path, locked)
    locked.chmod(0o644)
    with pytest.raises(GuestHost, match=r"^the guest's kernel does not start: .*linux: Permission denied") as info:
        boot(dataclasses.replace(kernel, path=locked), folder, ["true"])
    assert info.value.exit_code == 3


def test_a_full_disk_is_an_error(kernel: UmlKernel, folder: Path) -> None:
    with small_disk(folder, "size=1m"):
        with pytest.raises(GuestDisk, match=r"could not write to .*: No space left") as info:
            boot(kernel, folder, ["sh", "-c", "head -c 4M /dev/zero > file"])
        assert info.value.exit_code == 3


def test_a_supervisor_that_does_not_start_is_told_in_one_line(
    kernel: UmlKernel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "supervise.py").write_text("raise OSError(5, 'Input/output error')\n")
    monkeypatch.setattr("lab.machine.kernel.guest.HERE", tmp_path)
    with pytest.raises(GuestHost, match=r"^the guest's supervisor failed \(OSError: \[Errno 5\] Input/output error\)"):
        boot(kernel, folder, ["true"])
    assert capfd.readouterr() == ("", "")


def test_impossible_requests_are_refused(kernel: UmlKernel, folder: Path) -> None:
    with pytest.raises(InputError, match="64 bits"):
        boot(kernel, folder, ["true"], seed=-1)
    with pytest.raises(InputError, match="does not exist"):
        boot(kernel, folder / "absent", ["true"])


# -- nothing is left


def test_guests_side_by_side_from_threads_that_end(kernel: UmlKernel, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(4)]
    for folder in folders:
        folder.mkdir()
    guests: list[Guest] = []
    starter = threading.Thread(target=lambda: guests.append(Guest(kernel, folders[0], ["sleep", "1"], clock="real")))
    starter.start()
    starter.join()  # the thread that started this guest is gone; the guest is not
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda folder: sh(kernel, folder, "head -c 16 /dev/urandom | od -x"), folders[1:]))
    assert len(set(results)) == 1
    with guests[0] as guest:
        assert guest.wait().status == 0


def test_another_thread_can_end_a_guest(kernel: UmlKernel, folder: Path) -> None:
    with Guest(kernel, folder, ["sleep", "60"], clock="real") as guest:
        threading.Timer(0.5, guest.end).start()
        with pytest.raises(GuestEnded):
            guest.wait()
    assert [path.name for path in folder.iterdir()] == ["console.log"]


def test_leaving_the_context_ends_the_guest(kernel: UmlKernel, folder: Path) -> None:
    with Guest(kernel, folder, ["sh", "-c", SPIN]):
        assert eventually(lambda: processes(folder))
    assert not processes(folder)


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_dead_parent_leaves_nothing(kernel: UmlKernel, folder: Path, number: int) -> None:
    shared = set(Path("/dev/shm").iterdir())
    spin = f"for i in 1 2 3; do sleep 1000 & done; sleep 1; {SPIN}"
    parent = subprocess.Popen(command(kernel, folder, "sh", "-c", spin), stderr=subprocess.DEVNULL, cwd="/")
    try:
        assert eventually(lambda: len(processes(folder)) > 3)
    finally:
        parent.send_signal(number)
        parent.wait()
    assert eventually(lambda: not processes(folder))
    assert eventually(lambda: [path.name for path in folder.iterdir()] == ["console.log"])
    assert set(Path("/dev/shm").iterdir()) <= shared


def test_a_guest_reports_its_job_as_plain_data(kernel: UmlKernel, folder: Path) -> None:
    result = boot(kernel, folder, ["sleep", "0.01"])
    figures = (result.wall_seconds, result.cpu_seconds, result.guest_seconds)
    assert all(figure > 0 for figure in figures)
    assert json.dumps(figures)
