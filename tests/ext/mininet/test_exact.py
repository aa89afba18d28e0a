"""With exact wires, a script's links carry frames, and what it measures follows from their rate, delay and queue."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.ext.mininet import wires
from lab.ext.mininet.comparing import WireComparison
from lab.ext.mininet.running import MininetRun
from lab.machine.kernel import UmlKernel

pytestmark = pytest.mark.guest

SCRIPTS = Path(__file__).parents[2] / "data" / "mininet"
HEADERS, OVERHEAD = 14, 24
LINE_BITS = 8 * (1500 + HEADERS + OVERHEAD)  # of a full frame on an exact wire
PING_BITS = 8 * (84 + HEADERS + OVERHEAD)
Script = Callable[..., MininetRun]


@pytest.fixture
def run(kernel: UmlKernel, tmp_path: Path) -> Script:
    """Runs a script by its path with exact wires, unless the test wants Mininet's, into a store of its own."""
    del kernel  # it has to be there

    def running(script: Path, *arguments: str, exact: bool = True, store: str = "results") -> MininetRun:
        found: MininetRun = lab.mininet(
            script, *arguments, exact=exact, results=tmp_path / store, out=tmp_path / f"out-{exact}"
        )
        assert found.status == 0, found.plain()["output"]
        return found

    return running


def output(found: MininetRun) -> str:
    return str(found.plain()["output"]).replace("\r", "")


def document(found: MininetRun) -> Any:
    return json.loads(output(found).splitlines()[-1])


@pytest.mark.usefixtures("kernel")
def test_a_queue_of_packets_is_one_of_frames(tmp_path: Path) -> None:
    """The guide's example on both wires: pings, and what the captures show of the download."""
    options = ("--queue", "50", "--time", "6", "--offload")
    both: WireComparison = lab.compare_wires(
        SCRIPTS / "bufferbloat.py", *options, results=tmp_path / "results", out=tmp_path / "out"
    )
    mininet, exact = (float(re.findall(r"([\d.]+) ms", output(run))[-1]) for run in (both.mininet, both.exact))
    queue = 50 * LINE_BITS / 10e6
    full = 20 + 1e3 * queue
    assert 0.95 * full < exact < full + 0.5  # a ping each 0.1 s does not meet the queue's longest moment
    assert mininet > 1.2 * exact  # super-packets, each counted as one packet
    assert [each.exact for each in both.differences] == [output(both.exact).strip()]
    (download,) = both.flows
    assert download.name == "server → home:5201"
    assert download.exact.goodput == pytest.approx(10e6 * 8 * 1448 / LINE_BITS, rel=0.005)
    assert download.exact.longest_queue == pytest.approx(queue, rel=0.025)
    assert download.mininet.goodput == pytest.approx(10e6 * 1448 / (1500 + HEADERS), rel=0.015)
    assert download.mininet.longest_queue is not None
    assert download.mininet.longest_queue > 1.2 * queue
    assert any("50 frames take 61.5 ms" in reason for reason in both.reasons)
    assert (tmp_path / "out" / "mininet" / "rtt.png").exists()
    assert (tmp_path / "out" / "exact" / "rtt.png").exists()


def test_frames_leave_at_the_line_rate_without_a_burst(run: Script) -> None:
    found = document(run(SCRIPTS / "burst.py"))
    frame_ms = 1e3 * LINE_BITS / 1e6
    assert found["gaps_ms"] == pytest.approx([frame_ms] * 11, abs=0.002)
    assert found["transfer_ms"] == pytest.approx(9 * frame_ms, abs=0.01)
    mininet = document(run(SCRIPTS / "burst.py", exact=False))
    assert mininet["gaps_ms"][0] == pytest.approx(0, abs=0.01)  # HTB's burst
    assert mininet["transfer_ms"] < 8.5 * frame_ms


def test_a_scripts_calls_set_the_wire(run: Script) -> None:
    """Delay, rate, queue, losses, changes and failures, as the script sets them while it runs."""
    found = run(SCRIPTS / "laws.py")
    said = document(found)
    assert said["limits"] == [["4096", "131072"], ["4096", "16384"]]  # not Mininet's
    assert said["ping"] == [3, pytest.approx(50 + 2e3 * PING_BITS / 10e6, abs=0.002)]
    share = (1500 + HEADERS) * 8 / LINE_BITS
    assert said["rates"] == pytest.approx([10e6 * share, 20e6 * share], rel=0.003)
    assert re.search(r"qdisc pfifo .* limit 999p", said["queue"])
    assert "backlog 1487110b 999p" in said["queue"] or re.search(r"backlog \d+b 99[89]p", said["queue"])
    assert 68 <= said["losses"] <= 134  # 5 % of 2000, the binomial 99.9 % interval
    assert said["carrier"] == ["0", "1"]
    received, least = said["recovered"]
    assert received >= 41  # 5 % of 50 lost, with 99.9 %
    assert least == pytest.approx(50 + 1e3 * PING_BITS * (1 / 100e6 + 1 / 10e6), abs=0.002)
    assert found.not_exact == []
    (slow,) = [each for each in wires.directions(found.record) if each.sender == "s1-eth2"]
    assert slow.changes == 3
    assert any("Mininet drops the packets in a queue that it changes" in each for each in wires.reasons(found.record))


def test_what_is_not_exact_is_said(run: Script, tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(
        "from mininet.link import TCLink\nfrom mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(topo=SingleSwitchTopo(2, bw=100), link=TCLink)\n"
        "net.start()\n"
        "first, second = net.hosts\n"
        "second.cmd('tc qdisc add dev h2-eth0 root netem delay 5ms; nc -l 5000 > /dev/null &')\n"
        "first.cmd('ethtool -K h1-eth0 tso on gso on')\n"
        "print(first.cmd('sleep 0.1; ping -c 3 -i 0.2 10.0.0.2; head -c 1M /dev/zero | nc -N 10.0.0.2 5000'))\n"
        "net.stop()\n"
    )
    found = run(script)
    assert "rtt min/avg/max/mdev = 5.0" in output(found)
    first, second = found.not_exact
    assert first.startswith("not exact: the script sets queues in front of the wires: tc qdisc add dev h2-eth0 root ")
    assert re.match(r"not exact: h1-eth0 sent [\d,]+ frames in super-packets", second)


def test_the_wires_decide_the_address_and_two_runs_are_the_same(run: Script, tmp_path: Path) -> None:
    script = tmp_path / "lossy.py"
    script.write_text(
        "from mininet.link import TCLink\nfrom mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(topo=SingleSwitchTopo(2, bw=10, delay='2ms', jitter='1ms', loss=10), link=TCLink)\n"
        "net.start()\nprint(net.hosts[0].cmd('ping -c 50 -i 0.05 10.0.0.2'))\nnet.stop()\n"
    )
    first, again = run(script), run(script, store="again")
    assert first.record.outputs == again.record.outputs
    assert run(script, exact=False).record.address != first.record.address
