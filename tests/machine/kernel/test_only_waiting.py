"""Only waiting takes time: looking at the clock, failing and yielding leave no trace, and what spins ends."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab.machine.kernel import Budget, GuestLivelock, GuestTimeout, UmlKernel, boot, build

pytestmark = pytest.mark.guest

NETWORK = """
for host in a b; do ip netns add $host; done
ip link add a0 netns a type veth peer name b0 netns b
ip -n a address add 10.0.0.1/24 dev a0; ip -n b address add 10.0.0.2/24 dev b0
ip -n a link set a0 up; ip -n b link set b0 up
tc -n a qdisc add dev a0 root netem delay 1ms rate 10mbit
ip netns exec b tcpdump -Z root -i b0 --nano -w - tcp > capture.pcap 2> tcpdump.log & tcpdump=$!
ip netns exec b python3 -c "$SERVE" &
sleep 1
ip netns exec a $PYTHON -c "$SEND" $LOOKS
sleep 1
kill $tcpdump; wait $tcpdump
"""
SERVE = """
import socket
connection, _ = socket.create_server(("10.0.0.2", 5001)).accept()
while connection.recv(1 << 16):
    connection.sendall(b"!")
"""
SEND = """
import os, socket, sys, time
looks = {
    "none": lambda: None,
    "clock": time.monotonic_ns,
    "failure": lambda: os.path.exists("/absent"),
    "yield": os.sched_yield,
}
look, count = looks[sys.argv[1]], int(sys.argv[2])
connection = socket.create_connection(("10.0.0.2", 5001))
for size in (100, 3000, 1, 20000, 7):
    connection.sendall(bytes(size))
    for _ in range(count):
        look()
    connection.sendall(bytes(10))
    connection.recv(1)
    time.sleep(0.003)
"""


def sent(kernel: UmlKernel, folder: Path, looks: str, python: str = sys.executable, **environment: str) -> bytes:
    """The capture of a conversation whose sender looks so often between two sends."""
    folder.mkdir()
    environment |= {"SERVE": SERVE, "SEND": SEND, "LOOKS": looks, "PYTHON": python}
    result = boot(kernel, folder, ["sh", "-ec", NETWORK], environment=environment)
    assert result.status == 0, result.console.read_text()
    return (folder / "capture.pcap").read_bytes()


@pytest.fixture(scope="module")
def unhindered(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return sent(kernel, tmp_path_factory.mktemp("only-waiting") / "none", "none 0")


@pytest.mark.needs("ip", "tc", "tcpdump")
@pytest.mark.parametrize("looks", [f"{look} {count}" for look in ("clock", "failure", "yield") for count in (1, 5000)])
def test_looking_leaves_no_trace(kernel: UmlKernel, tmp_path: Path, unhindered: bytes, looks: str) -> None:
    assert len(unhindered) > 20_000
    assert sent(kernel, tmp_path / "looks", looks) == unhindered


@pytest.mark.needs("ip", "tc", "tcpdump")
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONPYCACHEPREFIX": "/nowhere"},
        {"LC_ALL": "xx_YY.UTF-8", "LANGUAGE": "xx"},
        {"python": "/usr/bin/python3"},
    ],
    ids=["without bytecode", "in a locale that is not there", "by the system's Python"],
)
def test_the_way_leaves_no_trace(
    kernel: UmlKernel, tmp_path: Path, unhindered: bytes, environment: dict[str, str]
) -> None:
    assert sent(kernel, tmp_path / "way", "none 0", **environment) == unhindered


# -- what spins

SPINS = """
import json
from lab.guest.perform import spins
with open("spins.json", "w") as file:
    json.dump([value, spins()], file)
"""
BUSY_WAIT = """
import time
end = time.monotonic_ns() + {wait}
while (now := time.monotonic_ns()) < end:
    pass
value = now - end
"""
SPENT = """
import os, time, {imports}
start = time.monotonic()
{body}
value = time.monotonic() - start
"""


def spin(kernel: UmlKernel, folder: Path, script: str) -> tuple[float, list[dict[str, object]]]:
    """What the script leaves in `value`, and the kernel's list of who spun."""
    folder.mkdir()
    result = boot(kernel, folder, [sys.executable, "-c", script + SPINS])
    assert result.status == 0, result.console.read_text()
    value, spins = json.loads((folder / "spins.json").read_text())
    return value, spins


@pytest.mark.parametrize("wait", [1_000_000, 20_000_000])
def test_a_busy_wait_ends_soon_after_its_time(kernel: UmlKernel, tmp_path: Path, wait: int) -> None:
    late, (spun,) = spin(kernel, tmp_path / "spin", BUSY_WAIT.format(wait=wait))
    assert 0 <= late <= wait / 127
    assert spun["call"] == "clock_gettime"
    assert spun["times"] == 1
    assert wait <= 1e9 * float(str(spun["seconds"])) < 1.25 * wait
    assert str(spun["program"]).startswith("python")


CHILD_WRITES = """
ours, theirs = os.pipe()
if not os.fork():
    time.sleep(0.05)
    os.write(theirs, b"!")
    os._exit(0)
"""
SPINNERS = {
    "select without a time-out": ("select", CHILD_WRITES + "while not select.select([ours], [], [], 0)[0]: pass"),
    "reads that fail": (
        "contextlib",
        CHILD_WRITES
        + """os.set_blocking(ours, False)
found = b""
while not found:
    with contextlib.suppress(BlockingIOError):
        found = os.read(ours, 1)""",
    ),
    "yields until a process sleeps": (
        "pathlib, signal",
        """child = os.fork()
if not child:
    time.sleep(0.05)
    time.sleep(1000)
while True:
    os.sched_yield()
    if time.monotonic() - start >= 0.05 and pathlib.Path(f"/proc/{child}/stat").read_text().split()[2] == "S":
        break
os.kill(child, signal.SIGKILL)""",
    ),
    "a flag in shared memory": (
        "mmap",
        """memory = mmap.mmap(-1, 1)
if not os.fork():
    time.sleep(0.05)
    memory[0] = 1
    os._exit(0)
while not memory[0]: pass""",
    ),
    "another thread's flag": (
        "sys, threading",
        """flag = []
threading.Timer(0.05 - sys.getswitchinterval(), flag.append, [1]).start()  # which it waits for Python's lock
while not flag: pass""",
    ),
    "another thread's flag beside a process with short waits": (
        "signal, sys, threading",
        """child = os.fork()
while not child: time.sleep(0.001)
flag = []
threading.Timer(0.05 - sys.getswitchinterval(), flag.append, [1]).start()
while not flag: pass
os.kill(child, signal.SIGKILL)""",
    ),
}
WORK = {  # that takes no time
    "a long computation that looks at the clock": "for number in range(10_000): sum(range(50)), time.monotonic()",
    "a longer one that shows its progress": """null = os.open("/dev/null", os.O_WRONLY)
for number in range(100_000):
    time.monotonic()
    if not number % 5000: os.write(null, b".")""",
    "polls before each piece of work": """ours, theirs = os.pipe()
for number in range(100):
    for _ in range(300): select.select([ours], [], [], 0)
    os.write(theirs, b"!"), os.read(ours, 1)""",
}
SERVES = """
to_child, from_child = os.pipe(), os.pipe()
if not os.fork():
    os.close(to_child[1])
    while os.read(to_child[0], 1): os.write(from_child[1], b"!")
    os._exit(0)
for _ in range(20_600):
    for _ in range(48): os.getppid()
    os.write(to_child[1], b"?"), os.read(from_child[0], 1)
"""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name == "another thread's flag")) for name in SPINNERS]
)
def test_spinning_ends_when_what_it_waits_for_comes(kernel: UmlKernel, tmp_path: Path, name: str) -> None:
    imports, body = SPINNERS[name]
    spent, (spun,) = spin(kernel, tmp_path / "spin", SPENT.format(imports=imports, body=body))
    assert spent == pytest.approx(0.05, rel=0.02)
    assert spun["times"] == 1
    assert (spun["call"] is None) == ("flag" in name)


@pytest.mark.parametrize("name", WORK)
def test_work_takes_no_time_however_often_it_polls(kernel: UmlKernel, tmp_path: Path, name: str) -> None:
    spent, _ = spin(kernel, tmp_path / "work", SPENT.format(imports="select", body=WORK[name]))
    assert spent <= 1e-7


def test_a_process_that_sleeps_pays_for_calls_after_a_million(kernel: UmlKernel, tmp_path: Path) -> None:
    """Its 1,030,000 calls have sleeps between them, so that it does not spin, and time passes at a steady pace."""
    spent, (spun,) = spin(kernel, tmp_path / "work", SPENT.format(imports="gc", body=SERVES))
    assert spent == pytest.approx(0.03, rel=0.05)  # and the calls at its start
    assert spent <= float(str(spun["seconds"])) < 0.04  # with the calls that read the list
    assert spun["times"] == 1


@pytest.mark.kernels
@pytest.mark.parametrize("series", ["6.1", "6.12"])
class TestOlderKernels:
    def test_looking_leaves_no_trace(self, tmp_path: Path, series: str) -> None:
        kernel = build(series)
        captures = {sent(kernel, tmp_path / look, f"{look} 5000") for look in ("none", "clock", "failure", "yield")}
        assert len(captures) == 1

    @pytest.mark.parametrize("name", SPINNERS)
    def test_spinning_ends_when_what_it_waits_for_comes(self, tmp_path: Path, series: str, name: str) -> None:
        test_spinning_ends_when_what_it_waits_for_comes(build(series), tmp_path, name)


def test_two_that_spin_do_not_wait_for_each_other(kernel: UmlKernel, tmp_path: Path) -> None:
    late, spins = spin(
        kernel,
        tmp_path / "spin",
        "import os\nchild = os.fork()" + BUSY_WAIT.format(wait=20_000_000) + "if not child: os._exit(0)",
    )
    assert 0 <= late <= 20_000_000 / 63
    assert [spun["times"] for spun in spins] == [2]


def test_a_server_of_python_waits_without_spinning(kernel: UmlKernel, tmp_path: Path) -> None:
    body = "server = socketserver.UDPServer(('127.0.0.1', 0), None)\nserver.timeout = 0.5\nserver.handle_request()"
    spent, spins = spin(kernel, tmp_path / "spin", SPENT.format(imports="socketserver", body=body))
    assert spent == pytest.approx(0.5, rel=0.01)
    assert spins == []


def test_who_looks_at_memory_for_ever_is_named(kernel: UmlKernel, tmp_path: Path) -> None:
    with pytest.raises(GuestLivelock, match=r"its clock still showed 60\.\d+ s: sh spins without a system call;"):
        boot(kernel, tmp_path, ["sh", "-c", "while :; do :; done"], budget=Budget(stall=9))


def test_who_looks_at_the_clock_for_ever_is_named(kernel: UmlKernel, tmp_path: Path) -> None:
    script = "import time\nwhile True: time.time()"
    with pytest.raises(GuestTimeout, match=r"within 1 s of its time: python\S* spins in clock_gettime;"):
        boot(kernel, tmp_path, [sys.executable, "-c", script], budget=Budget(guest=1))
