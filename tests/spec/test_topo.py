"""A `Topo` of Mininet's, written by someone else, becomes a network of ours; what cannot is named by its line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab.guest.network import Kind
from lab.spec import find
from lab.spec.errors import SpecError
from lab.units import Duration, Rate

# Mininet 2.3.0 imports distutils, which is on its way out; nobody else in the tests sees Mininet.
pytestmark = [
    pytest.mark.needs("mn"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

TOPO = '''
from mininet.link import TCLink
from mininet.node import Host
from mininet.topo import Topo


class Tree(Topo):
    """Two switches with two hosts each.

    As many tutorials have it.
    """

    def build(self, width=2):
        top = self.addSwitch("s1", protocols="OpenFlow13")
        low = self.addSwitch("s2")
        self.addLink(top, low, cls=TCLink, bw=1000, delay="1.5ms", use_htb=True)
        for number in range(1, 2 * width + 1):
            switch = top if number <= width else low
            host = self.addHost(f"h{number}", cls=Host, ip=f"10.0.0.{number}")
            self.addLink(host, switch, bw=10, loss=0.5, max_queue_size=100, jitter="1ms", delay=2000000)
        self.addLink("h1", low, params1={"bw": 100, "delay": "5ms"}, params2={"bw": 0.5})


topos = {"tree": Tree, "wide": (lambda: Tree(width=3))}
'''
EXPERIMENT = '''"""A claim over somebody else's network."""

from mininet.topo import Topo

from lab import Absolute, Arm, Experiment, Ping, Reported, metric


class Pair(Topo):
    def build(self):
        self.addLink(self.addHost("sender"), self.addHost("receiver"), bw=100, delay="5ms")


EXPERIMENT = Experiment(
    topology=Pair,
    workload=Ping(count=3),
    metric=metric.ping_rtt(),
    arms=(
        Arm("as-it-is", Reported("10 ms", "it says so")),
        Arm("slower", Reported("20 ms", "it says so"), links={"sender-receiver": {"delay": "10 ms"}}),
    ),
    tolerance=Absolute("500 us", because="the frames take time, too"),
)
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tree.py"
    path.write_text(TOPO)
    return path


def problems(path: Path, text: str, entry: str = "") -> list[str]:
    path.write_text(text)
    with pytest.raises(SpecError) as error:
        find.topology(f"{path}{entry}")
    return [f"{each.line}: {each.message}" for each in error.value.problems]


def test_nodes_links_and_addresses_come_over(file: Path) -> None:
    topology = find.topology(f"{file}:tree")
    assert topology.about == "Two switches with two hosts each."
    network = topology.network
    assert [node.name for node in network.nodes if node.kind is Kind.SWITCH] == ["s1", "s2"]
    assert [network.address(f"h{number}") for number in range(1, 5)] == [f"10.0.0.{n}" for n in range(1, 5)]
    assert [link.name for link in network.links] == ["s1-s2", "h1-s1", "h2-s1", "h3-s2", "h4-s2", "h1-s2"]


def test_each_direction_has_what_its_end_was_given(file: Path) -> None:
    links = {link.name: link for link in find.topology(f"{file}:tree").network.links}
    plain, own = links["h2-s1"], links["h1-s2"]
    assert plain.forward == plain.back
    assert (plain.back.rate, plain.back.delay) == (Rate.of("10 Mbit/s"), Duration.of("2 ms")), "a number is in ns"
    assert (plain.back.loss, plain.back.limit, plain.back.jitter) == (0.005, 100, Duration.of("1 ms"))
    assert (own.forward.rate, own.forward.delay) == (Rate.of("100 Mbit/s"), Duration.of("5 ms"))
    assert (own.back.rate, own.back.delay) == (Rate.of("500 kbit/s"), Duration(0))


def test_an_entry_is_chosen_by_name(file: Path) -> None:
    assert len(find.topology(f"{file}:wide").network.nodes) == 8
    assert "has tree, wide; name one, like tree.py:tree" in problems(file, TOPO)[0]
    assert "topos has no 'tre'; did you mean 'tree'?" in problems(file, TOPO, ":tre")[0]


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("bw=1000,", "bw='fast',", "16: links.s1-s2.forward.rate: "),
        ("use_htb=True", "use_tbf=True", "16: link s1-s2: use_tbf=True has no equivalent here"),
        ("use_htb=True", "enable_ecn=True", "16: link s1-s2: enable_ecn=True has no equivalent here"),
        ("use_htb=True", "intfName1='up'", "16: link s1-s2: intfName1='up' has no equivalent here"),
        ('delay="1.5ms"', 'delay="soon"', "16: link s1-s2: delay='soon' is no delay"),
        ("cls=Host,", "cls=type('Router', (Host,), {}),", "19: node 'h1': cls=Router has no equivalent here"),
        ("cls=Host,", "cpu=0.5,", "19: node 'h1': cpu=0.5 has no equivalent here"),
        ('self.addLink("h1", low,', "self.addLink(top, low,", "21: links.s1-s2-5: closes a loop of switches"),
        ('low = self.addSwitch("s2")', "low = self.nothing", "15: AttributeError: 'Tree' object has no attribute"),
        ('{"tree": Tree,', '{"tree": dict,', "makes a dict, which is not a Mininet Topo"),
        ("topos =", "topologies =", "should define topos"),
    ],
)
def test_what_has_no_equivalent_is_named_by_its_line(file: Path, was: str, becomes: str, said: str) -> None:
    assert was in TOPO
    found = problems(file, TOPO.replace(was, becomes), ":tree")
    assert any(said in each for each in found), found


def test_mininet_is_left_as_it_was(file: Path) -> None:
    find.topology(f"{file}:tree")
    base = sys.modules["mininet.topo"].Topo
    assert base.addLink.__module__ == base.addNode.__module__ == "mininet.topo"


@pytest.mark.guest
def test_an_experiment_runs_on_it(tmp_path: Path) -> None:
    import lab

    file = tmp_path / "mine" / "pair.py"
    file.parent.mkdir()
    file.write_text(EXPERIMENT)
    (claim,) = lab.run(file, results=tmp_path / "results")
    assert claim.passed, claim
