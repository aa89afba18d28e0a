"""containerlab's topology files: what becomes a topology, and what is named with its line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from lab.errors import InputError
from lab.ext.importing.importing import ImportOptions, read
from lab.guest.network import Kind
from lab.spec.errors import SpecError
from lab.units import Duration
from tests.ext.importing.conftest import Imports

TWO = """\
name: two
topology:
  nodes:
    a: {kind: linux, exec: [ip addr add 10.0.0.1/24 dev eth1]}
    b:
      kind: linux
      exec:
        - ip addr add 10.0.0.2/24 dev eth1
  links:
    - endpoints: ["a:eth1", "b:eth1"]
"""


def test_two_hosts(imports: Imports) -> None:
    found = imports(TWO, "two.clab.yml")
    (link,) = found.topology.network.links
    assert [(end.node, end.addresses[0]) for end in link.ends] == [("a", "10.0.0.1/24"), ("b", "10.0.0.2/24")]
    assert link.forward.mtu.bytes == 9500, "containerlab's default"
    assert found.untaken == ()


@pytest.mark.parametrize(
    "link",
    [
        '{endpoints: ["a:eth1", "b:eth1"], mtu: 1400}',
        "{type: veth, mtu: 1400, endpoints: [{node: a, interface: eth1}, {node: b, interface: eth1, mac: '02:00'}]}",
    ],
)
def test_both_forms_of_a_link(imports: Imports, link: str) -> None:
    (made,) = imports(TWO.replace('endpoints: ["a:eth1", "b:eth1"]', link), "net.clab.yml").topology.network.links
    assert made.forward.mtu.bytes == 1400
    assert [end.node for end in made.ends] == ["a", "b"]


LAYERS = """\
topology:
  defaults: {kind: linux, exec: [tc qdisc replace dev eth1 root netem delay 1ms]}
  kinds:
    linux: {exec: [tc qdisc replace dev eth1 root netem delay 2ms], sysctls: {net.ipv4.tcp_sack: 0}}
  groups:
    far: {exec: [tc qdisc replace dev eth1 root netem delay 3ms]}
  nodes:
    a: {group: far}
    b: {group: far, exec: [tc qdisc replace dev eth1 root netem delay 4ms]}
    c:
  links:
    - endpoints: [a:eth1, b:eth1]
    - endpoints: [b:eth2, c:eth1]
"""


def test_settings_come_from_node_group_kind_and_defaults(imports: Imports) -> None:
    network = imports(LAYERS, "net.clab.yml").topology.network
    first, second = network.links
    assert [each.delay for each in (first.forward, first.back, second.back)] == [
        Duration.of("3 ms"),
        Duration.of("4 ms"),
        Duration.of("2 ms"),
    ]
    assert {node.sysctls["net.ipv4.tcp_sack"] for node in network.nodes} == {"0"}


ROUTED = """\
name: routed
mgmt: {network: mine}
topology:
  nodes:
    h1: {kind: linux, exec: [ip addr add 10.0.1.2/24 dev eth1, ip route replace default via 10.0.1.1]}
    gw: {kind: linux, exec: [ip addr add 10.0.1.1/24 dev eth1, ip addr add 10.0.2.1/24 dev eth2]}
    frr: {kind: linux, image: "quay.io/frrouting/frr:9.1", exec: [ip addr add 10.0.2.2/24 dev eth1]}
    srl: {kind: nokia_srlinux, startup-config: srl.cfg}
    alone: {kind: linux}
    br: {kind: bridge}
    h2: {kind: linux}
  links:
    - endpoints: [h1:eth1, gw:eth1]
    - endpoints: [gw:eth2, frr:eth1]
    - endpoints: [frr:eth2, srl:e1-1]
    - endpoints: [srl:e1-2, br:port1]
    - endpoints: [h2:eth1, br:port2]
    - endpoints: [h2:eth2, "host:veth7"]
    - {type: mgmt-net, endpoint: {node: h2, interface: eth3}}
    - {type: vxlan, endpoint: {node: h2, interface: eth4}, remote: 192.0.2.1}
"""


def test_kinds(imports: Imports) -> None:
    """A next hop, a routing program and another kind are routers. What cannot be taken has its line."""
    found = imports(ROUTED, "net.clab.yml")
    kinds = {node.name: node.kind for node in found.topology.network.nodes}
    assert kinds == {
        **dict.fromkeys(("h1", "h2"), Kind.HOST),
        **dict.fromkeys(("gw", "frr", "srl"), Kind.ROUTER),
        "br": Kind.SWITCH,
    }
    assert [each.line for each in found.untaken] == [2, 7, 8, 8, 9, 18, 19, 20]
    said = "\n".join(map(str, found.untaken))
    for word in (
        "nokia_srlinux of srl",
        "startup-config",
        "alone: it has no link",
        "'host': it leaves the lab",
        "mgmt-net",
        "vxlan",
    ):
        assert word in said


def test_a_bridge_has_one_mtu(imports: Imports) -> None:
    found = imports(
        ROUTED.replace("[h2:eth1, br:port2]", "[h2:eth1, br:port2], mtu: 1500").replace(
            "- endpoints: [h2:eth1, br:port2], mtu: 1500", "- {endpoints: [h2:eth1, br:port2], mtu: 1500}"
        ),
        "net.clab.yml",
    )
    links = {link.name: link for link in found.topology.network.links}
    assert links["h2-br"].forward.mtu == links["srl-br"].forward.mtu
    assert links["h2-br"].forward.mtu.bytes == 1500
    assert any("1500, 9500 B at one switch" in each.message for each in found.untaken)


def test_subnets_that_overlap_are_told_apart(imports: Imports) -> None:
    """The first keeps its prefix; an automatic prefix gives way to one that the file gives."""
    text = TWO + "    - endpoints: [b:eth2, c:eth1]\n    - endpoints: [c:eth2, d:eth1]\n"
    nodes = "    c: {kind: linux, exec: [ip addr add 10.0.0.9/24 dev eth1]}\n"
    nodes += "    d: {kind: linux, exec: [ip addr add 10.0.2.1/24 dev eth1]}\n"
    found = imports(text.replace("  links:\n", f"{nodes}  links:\n"), "net.clab.yml")
    (problem,) = found.untaken
    assert "10.0.0.0/24 is the prefix of link 'a-b'" in problem.message
    first, second, third = (link.ends[1].addresses[0] for link in found.topology.network.links)
    assert (first, third) == ("10.0.0.2/24", "10.0.2.1/24")
    assert second.startswith("10.128."), "10.0.2.0/24 would be automatic, and is taken"


def test_a_loop_of_bridges_is_cut(imports: Imports) -> None:
    text = "topology:\n  nodes:\n    x: {kind: bridge}\n    y: {kind: bridge}\n    h: {kind: linux}\n  links:\n"
    text += "".join(f"    - endpoints: [{ends}]\n" for ends in ("h:e, x:1", "x:2, y:1", "y:2, x:3"))
    found = imports(text, "net.clab.yml")
    assert [(each.line, each.message) for each in found.untaken] == [(9, "y-x: closes a loop of switches")]
    assert len(found.topology.network.links) == 2


def test_a_script_changes_the_network(tmp_path: Path) -> None:
    network, change = tmp_path / "two.clab.yml", tmp_path / "impair.sh"
    network.write_text(TWO)
    change.write_text(
        "docker exec -i clab-two-a tc qdisc add dev eth1 root netem delay 7ms\n"
        "sudo containerlab tools netem set -n clab-two-b -i eth1 --delay 5ms --jitter 1ms --loss 10 --rate 1000\n"
        "containerlab tools netem set -n nobody -i eth1 --delay 5ms\n"
    )
    found = read([network, change], None, ImportOptions())
    (link,) = found.topology.network.links
    assert link.forward.delay == Duration.of("7 ms")
    assert (link.back.delay, link.back.jitter, link.back.loss) == (Duration.of("5 ms"), Duration.of("1 ms"), 0.1)
    assert link.back.rate is not None
    assert link.back.rate.bps == 10**6
    assert [(Path(each.file).name, each.line) for each in found.untaken] == [("impair.sh", 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n", "has no nodes in a topology"),
        ("topology: {nodes: []}\n", "has no nodes in a topology"),
        ("topology: {nodes: {}}\n", "describes no host with a link"),
        ("topology:\n  nodes: {a: {}, b: {}}\n", "describes no host with a link"),
        ("topology: [", "not YAML"),
        pytest.param("topology: {nodes: " + "[" * 5000, "not YAML", marks=pytest.mark.long),
        ("a: 1\n" * 2, "given twice"),
    ],
)
def test_files_that_are_no_network(imports: Imports, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imports(text, "net.clab.yml")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["linux", "a:e1", "b:e1", "a", "br:1", "ip addr add x", "bridge"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "exec", "node", "mtu"]), inner, max_size=3)
    ),
    max_leaves=8,
)
NODES = st.dictionaries(st.sampled_from(["a", "b", "br", "0", "x y"]), VALUES, max_size=4)
LINKS = st.lists(st.fixed_dictionaries({"endpoints": VALUES | st.just(["a:e1", "b:e1"])}) | VALUES, max_size=3)
KEYS = {"defaults": VALUES, "kinds": VALUES, "groups": VALUES}


@given(st.fixed_dictionaries({"nodes": NODES, "links": LINKS}, optional=KEYS))
def test_any_values_import_or_are_refused(tmp_path_factory: pytest.TempPathFactory, topology: dict[str, Any]) -> None:
    file = tmp_path_factory.getbasetemp() / "any.clab.yml"
    with file.open("w") as stream:
        YAML(typ="safe").dump({"topology": topology}, stream)
    with suppress(InputError):
        assert read([file], None, ImportOptions()).topology.network.nodes


def test_each_container_names_its_own_namespaces(tmp_path: Path) -> None:
    """Two nodes may both make a namespace `ns`. A script on the machine calls nodes by their containers' names."""
    inner = "ip netns add ns, ip link add i type veth peer name o netns ns, ip -n ns addr add 10.{n}.0.2/24 dev o"
    text = "topology:\n  nodes:\n"
    for number, name in enumerate("ab", 1):
        commands = f"{inner.format(n=number)}, ip addr add 10.{number}.0.1/24 dev i"
        text += f"    {name}: {{kind: linux, exec: [{commands}]}}\n"
    text += "  links:\n    - endpoints: [a:eth1, b:eth1]\n"
    network, change = tmp_path / "net.clab.yml", tmp_path / "change.sh"
    network.write_text(text)
    change.write_text("ip netns exec clab-net-b tc qdisc add dev eth1 root netem delay 3ms\n")
    found = read([network, change], None, ImportOptions())
    assert found.untaken == ()
    assert {(link.ends[0].node, link.ends[1].node) for link in found.topology.network.links} == {
        ("a", "b"),
        ("a", "a-ns"),
        ("b", "b-ns"),
    }
    (wire,) = [link for link in found.topology.network.links if link.name == "a-b"]
    assert wire.back.delay == Duration.of("3 ms")


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("  links:", "  link:", "unknown key 'link'; did you mean 'links'?"),
        ("  nodes:", "  nods:", "unknown key 'nods'; did you mean 'nodes'?"),
        ("topology:", "topolgy:", "unknown key 'topolgy'; did you mean 'topology'?"),
    ],
)
def test_a_misspelt_key_is_named_at_its_line(imports: Imports, was: str, becomes: str, message: str) -> None:
    assert TWO.count(was) == 1
    text = TWO.replace(was, becomes)
    line = 1 + next(number for number, each in enumerate(text.splitlines()) if each.startswith(becomes))
    with pytest.raises(SpecError) as error:
        imports(text, "two.clab.yml")
    assert [(each.line, each.message) for each in error.value.problems] == [(line, message)]


def test_a_misspelt_kind_and_keys_of_nodes(imports: Imports) -> None:
    text = """\
topology:
  defaults: {sysctl: {net.ipv4.ip_forward: 1}}
  nodes:
    a: {kind: linus, enforce-startup-config: true}
    b: {kind: nokia_srlinux, exce: [ip link], labels: {}}
  links:
    - endpoints: ["a:eth1", "b:eth1"]
"""
    untaken = [(each.line, each.message) for each in imports(text, "a.clab.yml").untaken]
    assert untaken == [
        (2, "unknown key 'sysctl'; did you mean 'sysctls'?"),
        (4, "kind linus of a has no counterpart: a Linux router takes its place; did you mean 'linux'?"),
        (5, "kind nokia_srlinux of b has no counterpart: a Linux router takes its place"),
        (5, "unknown key 'exce'; did you mean 'exec'?"),
    ]


def test_a_key_may_be_a_number(imports: Imports) -> None:
    assert imports(f"1: 2\n{TWO}", "two.clab.yml").untaken == ()
