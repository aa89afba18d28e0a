"""Mininet scripts run as they are, and give the same bytes every time."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.errors import InputError
from lab.ext.mininet import api, wires
from lab.ext.mininet.flows import flows
from lab.ext.mininet.networks import networks
from lab.ext.mininet.running import MininetRun
from lab.ext.verify.verification import verify
from lab.machine.kernel import Budget, UmlKernel

pytestmark = pytest.mark.guest

SCRIPTS = Path(__file__).parents[2] / "data" / "mininet"
FRAME_BITS = 8 * 1514
Script = Callable[..., MininetRun]


@pytest.fixture
def run(kernel: UmlKernel, tmp_path: Path) -> Script:
    """Runs a script by its name, into a store of its own."""
    del kernel  # it has to be there

    def running(name: str, *arguments: str, store: str = "results", **options: Any) -> MininetRun:
        script = SCRIPTS / name if (SCRIPTS / name).exists() else tmp_path / name
        found: MininetRun = lab.mininet(script, *arguments, results=tmp_path / store, out=tmp_path / "out", **options)
        return found

    return running


def said(found: MininetRun) -> str:
    assert found.status == 0, found.plain()["output"]
    return str(found.plain()["output"])


@pytest.mark.nightly
def test_without_arguments_a_script_has_its_own(run: Script) -> None:
    idle, _, longest = map(float, re.findall(r"([\d.]+) ms", said(run("bufferbloat.py"))))
    assert idle == pytest.approx(20, abs=0.3)
    assert longest == pytest.approx(20 + 1e3 * 100 * FRAME_BITS / 10e6, rel=0.015)


def test_arguments_decide_and_the_second_run_is_the_first(run: Script, tmp_path: Path) -> None:
    """A full queue takes its frames over its rate."""
    found = run("bufferbloat.py", "--queue", "50", "--time", "10")
    idle, _, longest = map(float, re.findall(r"([\d.]+) ms", said(found)))
    assert idle == pytest.approx(20, abs=0.3)
    assert longest == pytest.approx(20 + 1e3 * 50 * FRAME_BITS / 10e6, rel=0.015)
    assert found.files == ("rtt.png",)
    assert (tmp_path / "out" / "rtt.png").read_bytes().startswith(b"\x89PNG")
    again = run("bufferbloat.py", "--queue", "50", "--time", "10")
    assert (found.is_new, again.is_new) == (True, False)
    assert again.record.address == found.record.address


def test_in_ones_own_folder_the_second_run_is_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the usual store and folder of outputs, which are beside the script."""
    monkeypatch.chdir(tmp_path)
    Path("writes.py").write_text("open('rtt.png', 'w').write('a picture')\nprint('done')\n")
    first, again = lab.mininet("writes.py"), lab.mininet("writes.py")
    assert (first.is_new, again.is_new, again.used) == (True, False, ())
    assert Path("writes/rtt.png").read_text() == "a picture"
    with pytest.raises(InputError, match="outputs would be the next run's inputs"):
        lab.mininet("writes.py", out=".")


def test_a_prompt_without_input_is_said(run: Script, tmp_path: Path) -> None:
    (tmp_path / "prompt.py").write_text(
        "from mininet.cli import CLI\nfrom mininet.net import Mininet\nCLI(Mininet(build=False))\n"
    )
    assert run("prompt.py").instead.startswith("Mininet's prompt gets no input here")


def test_a_router_class_forwards(run: Script) -> None:
    text = said(run("router.py"))
    assert "lost 0.0 percent" in text
    assert re.findall(r"^ ?\d  (\S+)", text, re.MULTILINE) == ["10.1.0.1", "10.2.0.2"]


def test_mininets_own_iperf_ends(run: Script) -> None:
    rates = re.findall(r"'([\d.]+) Mbits/sec'", said(run("iperf.py")))
    assert all(40 < float(rate) <= 50 for rate in rates)
    assert rates


def test_iperf3_with_a_number_of_bytes_ends_with_its_report(run: Script) -> None:
    """The captures show the rate. iperf3 divides by the time until its report, on every machine."""
    found = run("counted.py", exact=True)
    assert re.findall(r"0.00-1.00 .* ([\d.]+) Mbits/sec .* sender", said(found)) == ["83.8"]
    assert [spun["call"] for spun in found.record.environment["spins"]] == [None]
    (network,) = networks(found.record)
    goodput = flows(found.record, network)[0].goodput
    assert goodput == pytest.approx(100e6 * 1448 / 1538, rel=0.01)  # slow start takes some milliseconds of the 0.9 s


def test_a_link_without_a_rate_has_the_one_that_ethtool_shows(run: Script) -> None:
    found = run("fast.py")
    text = said(found)
    assert "Speed: 10000Mb/s" in text
    rates = [float(rate) for rate in re.findall(r"'([\d.]+) Gbits/sec'", text)]
    assert rates
    assert all(9 < rate < 10 for rate in rates)
    assert not found.record.environment["spins"]
    assert "deleted 0" in text
    assert "added 0" in text
    assert 5 <= float(re.findall(r"time=([\d.]+) ms", text)[-1]) < 5.1


def test_deleted_flows_are_gone_when_the_next_packet_comes(run: Script) -> None:
    text = said(run("move.py"))
    assert re.findall(r"moved \d: ([\d.]+) % lost", text) == ["0.0"] * 3
    assert re.search(r"h1-eth\d\.7 +\| 7", text)


def test_servers_in_the_background_and_a_watched_command(run: Script, tmp_path: Path) -> None:
    found = run("background.py")
    text = said(found)
    assert "the server answered 200" in text
    assert "heard True" in text
    assert (tmp_path / "out" / "ping.pcap").stat().st_size > 24


def test_a_link_fails_and_recovers_under_mininets_command_line(run: Script) -> None:
    text = said(run("cli.py"))
    assert "2 packets transmitted, 2 received" in text
    assert "without the link 100.0" in text
    assert "with the link 0.0" in text


@pytest.mark.parametrize("exact", [False, True])
def test_a_script_of_commands_waits_without_spinning_and_its_network_is_recorded(
    run: Script, tmp_path: Path, exact: bool
) -> None:
    """Three files run when the script's Python starts: one for standard input, one for networks, one for wires."""
    (tmp_path / "commands.py").write_text(
        "from mininet.cli import CLI\nfrom mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "import reporter\nopen('c.mn', 'w').write('h1 sleep 60\\nh1 ping -c 1 h2\\n')\n"
        "net = Mininet(SingleSwitchTopo(2))\nnet.start()\nCLI(net, script='c.mn')\nnet.stop()\nprint(reporter.OWN)\n"
    )
    (tmp_path / "reporter.py").write_text("OWN = 'the script has its own module'\n")
    found = run("commands.py", exact=exact)
    text = said(found)
    assert "1 packets transmitted, 1 received" in text
    assert "the script has its own module" in text
    assert found.record.environment["spins"] == []
    (network,) = networks(found.record)
    assert [node.name for node in network.nodes if node.kind == "host"] == ["h1", "h2"]
    assert bool(wires.directions(found.record)) == exact


def test_a_tree_of_64_hosts_with_a_controller_in_the_guest(run: Script) -> None:
    assert "64 hosts, lost 0.0 percent" in said(run("tree.py"))


def test_open_vswitch_rests_while_the_network_is_built(run: Script, tmp_path: Path) -> None:
    """Else it would read the whole network again after each command, which made large networks very slow."""
    (tmp_path / "rests.py").write_text(
        "from pathlib import Path\nfrom subprocess import check_output\n"
        "from mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "status = Path('/proc', Path('/run/openvswitch/ovs-vswitchd.pid').read_text().strip(), 'status')\n"
        "def show(moment):\n"
        "    lines = dict(line.split(':\\t') for line in status.read_text().splitlines() if ':\\t' in line)\n"
        "    print(moment, lines['State'], lines['voluntary_ctxt_switches'])\n"
        "show('begun')\nnet = Mininet(SingleSwitchTopo(32), waitConnected=True, build=False)\n"
        "net.build()\nshow('built')\n"
        "net.start()\nshow('started')\nprint('lost', net.ping(net.hosts[::31]))\n"
        "print(check_output(['ovs-appctl', 'coverage/read-counter', 'bridge_reconfigure'], text=True))\nnet.stop()\n"
    )
    text = said(run("rests.py"))
    sleeps = dict(re.findall(r"^(begun|built) T \(stopped\) (\d+)", text, re.MULTILINE))
    assert set(sleeps.values()) == {sleeps["begun"]}
    assert "started S" in text
    assert "lost 0.0" in text
    assert int(re.findall(r"^(\d+)$", text, re.MULTILINE)[-1]) < 10  # not once for each of 32 links


@pytest.mark.parametrize(
    "command", ["ovs-appctl version", "ovs-vsctl set open_vswitch . external_ids:own=1", "ovs-vsctl --no-wait add-br b"]
)
def test_open_vswitch_answers_before_there_is_a_network(run: Script, tmp_path: Path, command: str) -> None:
    (tmp_path / "first.sh").write_text(
        f"#!/bin/sh\ntimeout 5 {command} || exit 1\nsleep 0.1\n"
        "ps -o state= -p $(cat /run/openvswitch/ovs-vswitchd.pid)\n"
    )
    assert said(run("first.sh")).splitlines()[-1] == "S"


def test_a_controller_serves_more_than_16_switches_and_leaves_its_port_to_the_next(run: Script, tmp_path: Path) -> None:
    """Open vSwitch's own controller serves 16, and lets the others wait. Mininet's authors build theirs for 4,096."""
    (tmp_path / "many.py").write_text(
        "from mininet.net import Mininet\nfrom mininet.topo import LinearTopo\n"
        "for count in 17, 2:\n"
        "    net = Mininet(LinearTopo(count), waitConnected=True)\n    net.start()\n"
        "    print(count, 'switches, lost', net.ping([net.hosts[0], net.hosts[-1]]), 'percent')\n"
        "    print('controllers', net.hosts[0].cmd('pgrep -c controller'))\n    net.stop()\n"
    )
    text = said(run("many.py"))
    assert "17 switches, lost 0.0 percent" in text
    assert "2 switches, lost 0.0 percent" in text
    assert re.findall(r"^controllers (\d+)", text, re.MULTILINE) == ["2", "1"]


@pytest.mark.nightly
def test_a_tree_of_256_hosts_connects(run: Script, tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(
        "from mininet.net import Mininet\nfrom mininet.topolib import TreeTopo\n"
        "net = Mininet(topo=TreeTopo(depth=2, fanout=16), waitConnected=True)\nnet.start()\n"
        "print(len(net.hosts), 'hosts, lost', net.ping(net.hosts[::85]), 'percent')\nnet.stop()\n"
    )
    assert "256 hosts, lost 0.0 percent" in said(run("large.py"))


def test_a_controller_with_v_does_not_stop_at_a_full_terminal(run: Script, tmp_path: Path) -> None:
    """Mininet's scratchnet.py starts it so."""
    (tmp_path / "verbose.py").write_text(
        "from mininet.net import Mininet\nfrom mininet.node import Node, RemoteController\n"
        "from mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(SingleSwitchTopo(6), controller=lambda name: RemoteController(name, port=6633))\n"
        "own = Node('own', inNamespace=False)\nown.cmd('controller -v ptcp: &')\n"
        "net.start()\nnet.waitConnected()\nprint('lost', net.pingAll())\n"
        "own.cmd('kill %controller')\nnet.stop()\n"
    )
    assert "lost 0.0" in said(run("verbose.py"))


def test_the_user_switch_changes_its_controller_and_works_in_its_own_namespace(run: Script) -> None:
    text = said(run("user.py"))
    assert re.findall(r"^lost ([\d.]+) (.+)", text, re.MULTILINE) == [
        ("0.0", "by the first"),
        ("0.0", "by the second"),
        ("0.0", "in its own namespace"),
    ]
    assert re.findall(r"tcp:\S+: .+", text) == [
        "tcp:127.0.0.1:6653: connected",
        "tcp:127.0.0.1:6653: connection dropped",
        "tcp:127.0.0.1:6654: connected",
    ]
    assert "dpid:0000000000000001" in text
    assert 20 <= float(re.findall(r"time=([\d.]+) ms", text)[-1]) < 20.2
    assert re.findall(r"^entries left (\d+)", text, re.MULTILINE) == ["0"]
    carried = re.search(r"^carried \['([\d.]+) Mbits/sec'", text, re.MULTILINE)
    assert carried
    assert 9 < float(carried[1]) <= 10


def test_two_stores_hold_the_same_bytes(run: Script, tmp_path: Path) -> None:
    first, second = run("background.py"), run("background.py", store="again")
    assert first.record.outputs == second.record.outputs
    checked = verify(tmp_path / "results", 1, Budget())
    assert [each.outcome for each in checked.checked] == ["identical"]


@pytest.mark.parametrize(
    ("text", "status", "instead"),
    [
        ("import sys\nsys.exit(3)\n", 3, ""),
        ("import time\ntime.sleep(10**7)\n", None, ""),
        ("import tkinter\n", 1, "a guest has no windows"),
        ("raise Exception('cgroupSet cpu.cfs_quota_us: error')\n", 1, "CPU limits have no effect"),
    ],
    ids=["exits", "sleeps", "windows", "cpu"],
)
def test_a_script_that_fails_says_how(
    run: Script, tmp_path: Path, text: str, status: int | None, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "LONGEST_SECONDS", 600.0)  # each second of a guest's day takes the host some time
    (tmp_path / "fails.py").write_text(text)
    found = run("fails.py")
    assert found.status == status
    assert found.exit_code == 1
    assert found.instead.startswith(instead)


def test_the_script_is_root_and_its_folder_is_its_own(run: Script, tmp_path: Path) -> None:
    (tmp_path / "root.sh").write_text(
        "#!/bin/bash\nsudo -E env A=1 id -u\nmodprobe tcp_bbr\necho kept > kept.txt\necho x > /etc/hosts\nps | wc -l\n"
    )
    found = run("root.sh")
    assert said(found).splitlines()[0] == "0"
    assert found.files == ("kept.txt",)
    assert (tmp_path / "out" / "kept.txt").read_text() == "kept\n"
