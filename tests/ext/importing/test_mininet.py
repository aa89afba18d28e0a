"""Mininet scripts, which build their networks in a guest."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import InputError
from lab.ext.importing.importing import ImportOptions, read
from lab.guest.network import Kind
from lab.units import Duration, Rate

pytestmark = pytest.mark.guest

SCRIPT = '''\
"""A script that builds its network by hand, and measures it."""

import sys
import time

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import Controller, CPULimitedHost, OVSSwitch

net = Mininet(controller=Controller, link=TCLink, host=CPULimitedHost, switch=OVSSwitch)
net.addController("c0")
a, r, b = net.addHost("a", ip="10.0.1.2/24"), net.addHost("r"), net.addHost("b", cpu=0.1)
s = net.addSwitch("s1")
net.addLink(a, s, bw=float(sys.argv[1]), delay="10ms")
net.addLink(s, r, params2={"ip": "10.0.1.1/24"})
net.addLink(r, b, params1={"ip": "10.0.2.1/24"}, loss=2, use_tbf=True)
net.start()
b.setIP("10.0.2.2/24")
r.cmd("sysctl -w net.ipv4.ip_forward=1")
a.cmd("ip route add default via 10.0.1.1")
b.cmd("tc qdisc add dev b-eth0 root netem delay 4ms")
time.sleep(60)
b.cmd("tc qdisc change dev b-eth0 root netem delay 40ms")
print(a.cmd("ping -c 3", b.IP()))
assert net.pingAll() == 0
CLI(net)
raise SystemExit("this is never reached")
'''


def test_a_script_that_builds_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SCRIPT)
    found = read([file], None, ImportOptions({"1": "7.5"}))
    network = found.topology.network
    kinds = {node.name: node.kind for node in network.nodes}
    assert kinds == {"a": Kind.HOST, "b": Kind.HOST, "r": Kind.ROUTER, "s1": Kind.SWITCH}
    first, _, last = network.links
    assert (first.forward.rate, first.back.delay) == (Rate.of("7.5 Mbit/s"), Duration.of("10 ms"))
    assert first.ends[0].addresses[0] == "10.0.1.2/24"
    assert [end.addresses[0] for end in last.ends] == ["10.0.2.1/24", "10.0.2.2/24"]
    assert (last.forward.loss, last.back.delay) == (0.02, Duration.of("4 ms"))
    assert [(each.at, each.delay) for each in last.back.changes] == [(Duration.of("60 s"), Duration.of("40 ms"))]
    lines = SCRIPT.splitlines()
    said = {(lines[each.line - 1].split("(")[0], each.message.split(":")[0]) for each in found.untaken}
    assert said == {("a, r, b = net.addHost", "node 'b'"), ("net.addLink", "link r-b"), ("print", "ping")}


def test_a_script_that_fails_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("from mininet.topo import Topo\nimport absent\n")
    with pytest.raises(InputError, match=r"net\.py:2: ModuleNotFoundError: No module named 'absent'"):
        read([file], None, ImportOptions())


@pytest.mark.parametrize("broken", ["net.py", "parts.py"])
def test_a_syntax_error_names_its_own_line(tmp_path: Path, broken: str) -> None:
    (tmp_path / "net.py").write_text("import parts\n")
    (tmp_path / "parts.py").write_text("import mininet\n")
    (tmp_path / broken).write_text("import mininet\n\nprint(\n")
    with pytest.raises(InputError, match=rf"{broken}:3: '\(' was never closed"):
        read([tmp_path / "net.py"], None, ImportOptions())


def test_a_bare_delay_is_in_nanoseconds(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "from mininet.link import TCLink\nfrom mininet.topo import Topo\n\n\nclass Pair(Topo):\n    def build(self):\n"
        "        self.addLink(self.addHost('a'), self.addHost('b'), cls=TCLink, delay='20', jitter=5)\n"
    )
    found = read([file], None, ImportOptions())
    way = found.topology.network.links[0].forward
    assert (way.delay, way.jitter) == (Duration(20), Duration(5))
    assert [each.line for each in found.untaken] == [7, 7]
    assert "link a-b: delay 20 has no unit, so tc reads 20 ns" in found.untaken[0].message
