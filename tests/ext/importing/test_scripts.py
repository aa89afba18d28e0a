"""Shell scripts of ip and tc commands: what they would build, without running them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.importing import script
from lab.ext.importing.importing import ImportOptions, read
from lab.ext.importing.where import Where
from lab.guest.network import Kind
from lab.units import Duration, Rate
from tests.ext.importing.conftest import Imports

PAIR = """\
ip netns add a
ip netns add b
ip link add va netns a type veth peer name vb netns b
ip -n a addr add 10.1.0.1/24 dev va
ip -n b addr add 10.1.0.2/24 dev vb
"""


def commands(source: str, **given: str) -> list[str]:
    """The commands that a script gives, and `line: why` of what it cannot know."""
    found: list[str] = []
    script.read(
        source,
        Where("x.sh", 1),
        lambda words, _, output: found.append(" ".join(words) + (f" > {output}" if output else "")),
        lambda where, why: found.append(f"{where.line}: {why}"),
        {key.lstrip("_"): value for key, value in given.items()},
    )
    return found


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("for i in 1 2; do ip a $i; done", ["ip a 1", "ip a 2"]),
        ("for i in {1..3}; do ip a h$i; done", ["ip a h1", "ip a h2", "ip a h3"]),
        ("for i in $(seq 2 3); do ip a $((i * 10 + 1)); done", ["ip a 21", "ip a 31"]),
        ("for ((i=0; i<2; i++)); do ip a $i; done", ["ip a 0", "ip a 1"]),
        ("f() { ip a $1 $#; }; f x y", ["ip a x 2"]),
        ("X='a b'; ip $X \"$X\" '$X'", ["ip a b a b $X"]),
        ("ip a ${X:-7} ${Y-8}", ["ip a 7 8"]),
        ("A=(x y); for i in ${A[@]}; do ip $i; done", ["ip x", "ip y"]),
        ("ip a && ip b || ip c", ["ip a", "ip b"]),
        ("N=2; if [ $N -gt 1 ]; then ip yes; else ip no; fi", ["ip yes"]),
        ("N=x; if [ $N = y ]; then ip yes; elif [ -n $N ]; then ip more; else ip no; fi", ["ip more"]),
        ("case x in y) ip y;; x|z) ip x;; *) ip other;; esac", ["ip x"]),
        ("ip a \\\n  b", ["ip a b"]),
        ("echo 1 > /proc/sys/net/ipv4/ip_forward", ["echo 1 > /proc/sys/net/ipv4/ip_forward"]),
        ("ip a # a comment", ["ip a"]),
        ("ip a; exit 0; ip b", ["ip a"]),
        ("sudo ip a &", ["sudo ip a"]),
        ("if ip netns list | grep a; then ip netns del a; fi; ip b", ["ip b"]),
    ],
)
def test_the_shell(source: str, given: list[str]) -> None:
    assert commands(source) == given


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("ip a $UNKNOWN", "1: only running the script would show the value of $UNKNOWN"),
        ("\nip a $(hostname)", "2: only running the script would show the output of 'hostname'"),
        ("while true; do tc x; done", "1: only running the script would show the length of this loop"),
        ("if ping -c 1 x; then ip a; fi", "1: a condition"),
        ("for i in $(ls); do ip link $i; done", "1: a loop over the output of 'ls'"),
        ("case $1 in x) ip a;; esac", "1: a case of the value of $1"),
        ("cat <<EOF | clab deploy -t -\nname: x\ntopology:\n  nodes: {}\nEOF", "1: a containerlab file"),
        ("tc -b - <<EOF\nqdisc add\nEOF", "1: a batch of commands"),
    ],
)
def test_what_only_a_run_would_show_has_a_line(source: str, why: str) -> None:
    assert [each for each in commands(source) if each.startswith(why)]


def test_a_variable_from_outside_wins() -> None:
    assert commands("X=1; ip $X $1", X="2", _1="first") == ["ip 2 first"]


def test_other_programs_may_have_unknown_words() -> None:
    assert commands("iperf3 -c $SERVER; ip a") == ["ip a"]


def ways(imports: Imports, text: str) -> tuple[Any, Any, list[str]]:
    """Both directions of a pair's link after these commands, and what was left out."""
    found = imports(PAIR + text)
    (link,) = found.topology.network.links
    return link.forward, link.back, [each.message for each in found.untaken]


def test_a_pair(imports: Imports) -> None:
    found = imports(PAIR + "ip -n a link set va mtu 1400\nip -n b link set vb mtu 1400\n")
    (link,) = found.topology.network.links
    assert [(end.node, end.addresses[0]) for end in link.ends] == [("a", "10.1.0.1/24"), ("b", "10.1.0.2/24")]
    assert (link.forward.mtu.bytes, link.back.mtu.bytes) == (1400, 1400)
    assert found.untaken == ()
    assert "a: {addresses: [10.1.0.1/24]}  # va" in found.text


HTB = "tc -n a qdisc add dev va root handle 1: htb default 10"
BORROWING = "tc -n a class add dev va parent 1:1 classid 1:10 htb rate 1mbit ceil 9mbit"


@pytest.mark.parametrize(
    ("commands", "rate"),
    [
        ("tc -n a qdisc add dev va root netem rate 8mbit", "8 Mbit/s"),
        ("ip netns exec a tc qdisc add dev va root tbf rate 5mbit burst 1600 limit 9000", "5 Mbit/s"),
        (
            f"{HTB}\ntc -n a class add dev va parent 1: classid 1:10 htb rate 3mbit",
            "3 Mbit/s",
        ),
        # a class borrows up to its ceil, from its parent
        (
            f"{HTB}\ntc -n a class add dev va parent 1: classid 1:1 htb rate 6mbit\n{BORROWING}",
            "6 Mbit/s",
        ),
        ("tc -n a qdisc add dev va root cake bandwidth 7mbit", "7 Mbit/s"),
        (
            "tc -n a qdisc add dev va root netem delay 1ms\ntc -n a qdisc replace dev va root netem rate 4mbit",
            "4 Mbit/s",
        ),
    ],
)
def test_rates(imports: Imports, commands: str, rate: str) -> None:
    forward, back, _ = ways(imports, commands)
    assert (forward.rate, back.rate) == (Rate.of(rate), None)


def test_netem_below_a_rate(imports: Imports) -> None:
    forward, _, untaken = ways(
        imports,
        "tc -n a qdisc add dev va root handle 1: htb default 1\n"
        "tc -n a class add dev va parent 1: classid 1:1 htb rate 10mbit\n"
        "tc -n a qdisc add dev va parent 1:1 handle 10: netem delay 25ms loss 1% limit 77\n",
    )
    assert (forward.rate, forward.delay) == (Rate.of("10 Mbit/s"), Duration.of("25 ms"))
    assert (forward.limit, forward.queue, untaken) == (77, None, [])


def test_a_queue_below_a_rate(imports: Imports) -> None:
    forward, _, untaken = ways(
        imports,
        "tc -n a qdisc add dev va root handle 1: tbf rate 10mbit burst 2000 limit 3000\n"
        "tc -n a qdisc add dev va parent 1:1 fq_codel target 7ms\n",
    )
    assert forward.queue.kind == "fq_codel"
    assert dict(forward.queue.parameters) == {"target": "7 ms"}
    assert untaken == ["tbf's burst of 2,000 B: each frame leaves at the rate; a queue of the kind tbf has a burst"]


def test_the_topologys_check_decides(imports: Imports) -> None:
    """More jitter than delay has no meaning here: the check's own message names the script's line."""
    found = imports(PAIR + "tc -n a qdisc add dev va root netem delay 5ms 10ms\n")
    assert [(each.line, each.message) for each in found.untaken] == [
        (6, "a-b: 10 ms is more than the delay of 5 ms; give a longer delay")
    ]
    assert found.topology.network.links[0].forward.delay == Duration.of("5 ms")


def test_a_queue_needs_a_rate(imports: Imports) -> None:
    forward, _, untaken = ways(imports, "tc -n a qdisc add dev va root fq_codel\n")
    assert forward.queue is None
    assert "frames only queue on a link with a rate" in untaken[0]


def test_htb_without_a_default_limits_nothing(imports: Imports) -> None:
    shaped = (
        "tc -n a qdisc add dev va root handle 1: htb\ntc -n a class add dev va parent 1: classid 1:1 htb rate 1mbit\n"
    )
    forward, _, untaken = ways(imports, shaped)
    assert forward.rate is None
    assert untaken == ["no packet reaches this class: no filter or default selects it"]
    choosing = "tc -n a filter add dev va parent 1: protocol ip u32 match ip dst 10.1.0.2/32 flowid 1:1\n"
    forward, _, untaken = ways(imports, shaped + choosing)
    assert forward.rate == Rate.of("1 Mbit/s")
    assert untaken == ["a filter selects the packets that HTB limits: the lab's rate applies to all packets"]


def test_each_class_of_several_is_named(imports: Imports) -> None:
    found = imports(
        PAIR + "tc -n a qdisc add dev va root handle 1: htb default 2\n"
        "tc -n a class add dev va parent 1: classid 1:1 htb rate 1mbit\n"
        "tc -n a class add dev va parent 1: classid 1:2 htb rate 2mbit\n"
    )
    assert [each.line for each in found.untaken] == [7, 8]
    assert "its own link" in found.untaken[0].message


def test_sleep_makes_changes(imports: Imports) -> None:
    forward, back, untaken = ways(
        imports,
        "tc -n a qdisc add dev va root netem delay 10ms rate 5mbit\nsleep 2\n"
        "tc -n a qdisc change dev va root netem delay 30ms rate 5mbit loss 1%\nsleep 1.5\n"
        "ip -n a link set va down\nsleep 0.3\nip -n a link set va up\nsleep 1m\nip netns del a\n",
    )
    change, down = forward.changes
    assert (change.at, change.delay, change.loss, change.rate) == (Duration.of("2 s"), Duration.of("30 ms"), 0.01, None)
    assert (down.at, down.down) == (Duration.of("3.5 s"), Duration.of("300 ms"))
    assert [each.at for each in back.changes] == [down.at], "both directions are down"
    assert untaken == []


def test_a_change_at_an_unknown_time_is_named(imports: Imports) -> None:
    text = (
        "tc -n a qdisc add dev va root netem delay 1ms\nping -c 9 x\ntc -n a qdisc change dev va root netem delay 9ms\n"
    )
    forward, _, untaken = ways(imports, text)
    assert forward.delay == Duration.of("1 ms")
    assert len(untaken) == 2
    assert "duration is unknown" in " ".join(untaken)


BRIDGE = """\
ip link add br0 type bridge
ip addr add 10.5.0.254/24 dev br0
for h in x y; do
  ip netns add $h
  ip link add v$h type veth peer name p$h
  ip link set p$h master br0 up
  ip link set v$h netns $h
  ip netns exec $h ip route add default via 10.5.0.254
done
ip -n x addr add 10.5.0.1/24 dev vx
ip -n y addr add 10.5.0.2/24 dev vy
tc qdisc add dev py root netem delay 7ms
"""


def test_a_bridge(imports: Imports) -> None:
    """The script's own machine has an address on the bridge, and hosts send through it: it is a router."""
    network = imports(BRIDGE).topology.network
    assert {node.name: node.kind for node in network.nodes} == {
        "x": Kind.HOST,
        "y": Kind.HOST,
        "root": Kind.ROUTER,
        "br0": Kind.SWITCH,
    }
    (link,) = [each for each in network.links if each.name == "br0-y"]
    assert (link.forward.delay, link.back.delay) == (Duration.of("7 ms"), Duration(0))


def test_a_card_that_a_script_shapes(imports: Imports) -> None:
    found = imports(
        "IF=eth0\ntc qdisc add dev $IF root netem delay 10ms\nip link add ifb0 type ifb\n"
        "tc qdisc add dev $IF handle ffff: ingress\n"
        "tc filter add dev $IF parent ffff: u32 match u32 0 0 action mirred egress redirect dev ifb0\n"
        "tc qdisc add dev ifb0 root netem delay 30ms\n"
    )
    (link,) = found.topology.network.links
    assert [end.node for end in link.ends] == ["sender", "receiver"]
    assert (link.forward.delay, link.back.delay) == (Duration.of("10 ms"), Duration.of("30 ms"))
    assert found.untaken == ()


ROUTED = """\
ip netns add r
ip netns exec r sysctl -w net.ipv4.ip_forward=1
for i in 1 2; do
  ip netns add h$i
  ip link add r$i netns r type veth peer name e netns h$i
  ip -n r addr add 10.0.$i.1/24 dev r$i
  ip -n h$i addr add 10.0.$i.2/24 dev e
done
"""


def test_routes_that_the_lab_has_anyway(imports: Imports) -> None:
    found = imports(ROUTED + "ip -n h1 route add default via 10.0.1.1\nip -n h2 route add 10.0.1.0/24 via 10.0.2.1\n")
    assert found.untaken == ()
    assert [node.kind for node in found.topology.network.nodes] == [Kind.HOST, Kind.HOST, Kind.ROUTER]


def test_a_route_that_differs_is_declared(imports: Imports) -> None:
    found = imports(ROUTED + "ip -n h1 route add default via 10.0.1.1 initcwnd 20\n")
    assert found.untaken == ()
    routes = [route for route in found.topology.network.node("h1").routes if ":" not in route.to]
    assert [(route.to, route.via) for route in routes] == [("0.0.0.0/0", "10.0.1.1")]


def test_a_route_through_an_address_of_no_node_is_named(imports: Imports) -> None:
    found = imports(ROUTED + "ip -n h1 route add default via 10.0.1.9\n")
    assert [(each.line, each.message) for each in found.untaken] == [
        (9, "h1: no node has the address 10.0.1.9; name a neighbour")
    ]


TWO_WAYS = """\
for i in n r1 r2 h2 h3; do ip netns add $i; done
for r in r1 r2; do ip netns exec $r sysctl -w net.ipv4.ip_forward=1; done
ip link add a netns n type veth peer name n netns r1
ip link add b netns n type veth peer name n netns r2
ip link add b netns r1 type veth peer name a netns r2
ip link add h netns r2 type veth peer name r netns h2
ip -n n addr add 10.0.1.1/24 dev a
ip -n r1 addr add 10.0.1.2/24 dev n
ip -n n addr add 10.0.2.1/24 dev b
ip -n r2 addr add 10.0.2.2/24 dev n
ip -n r1 addr add 10.0.3.1/24 dev b
ip -n r2 addr add 10.0.3.2/24 dev a
ip -n r2 addr add 10.2.0.1/24 dev h
ip -n h2 addr add 10.2.0.2/24 dev r
ip link add i netns r2 type veth peer name r netns h3
ip -n r2 addr add 10.3.0.1/24 dev i
ip -n h3 addr add 10.3.0.2/24 dev r
"""


def test_a_route_within_one_that_differs_is_declared(imports: Imports) -> None:
    """The declared default would replace the automatic route to 10.2.0.0/24, which is the same as the file's."""
    found = imports(TWO_WAYS + "ip -n n route add default via 10.0.1.2\nip -n n route add 10.2.0.0/24 via 10.0.2.2\n")
    assert found.untaken == ()
    routes = [(route.to, route.via) for route in found.topology.network.node("n").routes if ":" not in route.to]
    assert routes == [("0.0.0.0/0", "10.0.1.2"), ("10.2.0.0/24", "10.0.2.2")]


def test_a_route_through_an_address_without_a_link_is_named(imports: Imports) -> None:
    found = imports(ROUTED + "ip -n h1 route add 10.0.2.0/24 via 10.7.7.7\n")
    assert [each.line for each in found.untaken] == [9]
    assert "no link of 'h1' has a subnet with 10.7.7.7" in found.untaken[0].message


def test_a_routes_metrics_and_next_hops_are_taken(imports: Imports) -> None:
    found = imports(
        TWO_WAYS
        + "ip -n n route add 10.2.0.0/24 via 10.0.1.2 initcwnd 20 mtu 1400\n"
        + "ip -n n route add 10.9.0.0/16 nexthop via 10.0.1.2 weight 2 nexthop via 10.0.2.2\n"
    )
    assert found.untaken == ()
    first, second = (route for route in found.topology.network.node("n").routes if route.declared)
    assert (first.to, first.initcwnd, str(first.mtu)) == ("10.2.0.0/24", 20, "1400 B")
    assert [(hop.via, hop.weight) for hop in second.hops] == [("10.0.1.2", 2), ("10.0.2.2", 1)]


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("ip -n a link add t type team", "use a bond"),
        ("ip -n a link add bond0 type bond mode balance-rr", "put at least two into the bond"),
        ("ip -n a link set va master va", "va is no bridge, bond or VRF"),
        ("ip -n a rule add from 1.2.3.4 table 5", "ip rule has no counterpart"),
        ("iptables -t nat -A POSTROUTING -j MASQUERADE", "middlebox.Masquerade"),
        ("ip -n a addr add 10.7.7.7/32 dev lo", "no interface without a link"),
        ("sysctl -w vm.swappiness=1", "only sysctls of net."),
        ("ip -n a route add 10.1.0.0/16 via 10.1.0.2 congctl reno", "congctl of a route"),
        ("ip -n a route add 10.1.0.0/16 nexthop via 10.1.0.2 nexthop dev ea", "name it with a via"),
        ("iperf3 -s", "lab shell"),
        ("tc -n a qdisc add dev va root netem delay banana", "'banana' is not a time"),
        ("tc -n a qdisc add dev va root hfsc default 1", "hfsc has no counterpart"),
        ("ip -n a link set va txqueuelen 5", "their own limit"),
    ],
)
def test_what_has_no_counterpart_has_its_line_and_the_nearest(imports: Imports, command: str, instead: str) -> None:
    found = imports(f"{PAIR}{command}\n")
    assert [each.line for each in found.untaken] == [6]
    assert instead in found.untaken[0].message
    assert f":6: {found.untaken[0].message}" in found.text


HOSTILE = ["(" * 5000, "if true; then " * 5000, "f() { f; f; }\nf", "A=x\n" + "A=$A$A\n" * 40, "sh -c '" * 300]
HOSTILE += [
    "ip netns add " + "{a,b}" * 40,
    "for i in {1..999999999999}; do ip netns add n$i; done",
    "ip netns exec a " * 3000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_scripts_end_with_a_message(imports: Imports, text: str) -> None:
    with pytest.raises(InputError, match=r"net\.sh"):
        imports(text)


WORDS = [
    "ip",
    "tc",
    "netns",
    "link",
    "add",
    "set",
    "dev",
    "a",
    "va",
    "vb",
    "type",
    "veth",
    "peer",
    "name",
    "root",
    "netem",
]
WORDS += [
    "qdisc",
    "class",
    "handle",
    "1:",
    "parent",
    "1:1",
    "htb",
    "rate",
    "1mbit",
    "delay",
    "10ms",
    "master",
    "bridge",
    "br0",
]
WORDS += [
    "addr",
    "10.1.0.1/24",
    "route",
    "via",
    "default",
    "-n",
    "exec",
    "sleep",
    "1",
    "up",
    "down",
    "mtu",
    "1500",
    "\n",
    ";",
]
WORDS += [
    "$X",
    "&&",
    "'",
    '"',
    "for",
    "in",
    "do",
    "done",
    "if",
    "fi",
    "$(",
    ")",
    "{",
    "}",
    "ifb",
    "filter",
    "ovs-vsctl",
    "<<",
]


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words_import_or_are_refused(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    file: Path = tmp_path_factory.getbasetemp() / "any.sh"
    file.write_text(PAIR + " ".join(words) + "\n")
    with suppress(InputError):
        assert read([file], None, ImportOptions()).topology.network.nodes


@pytest.mark.parametrize(
    "command",
    [
        "netem delay 1ms rate 10",
        "tbf rate 10 burst 2kb limit 9000",
        "cake bandwidth 10",
        "handle 1: htb default 1\nip netns exec a tc class add dev va parent 1: classid 1:1 htb rate 10",
    ],
)
def test_a_rate_that_lacks_its_unit_has_a_message(imports: Imports, command: str) -> None:
    found = imports(f"{PAIR}ip netns exec a tc qdisc add dev va root {command}\n")
    name = "bandwidth" if "cake" in command else "rate"
    assert f"{name} 10 has no unit, so tc reads 10 bit/s" in [each.message for each in found.untaken]
    plain = imports(f"{PAIR}ip netns exec a tc qdisc add dev va root {command.replace(' 10', ' 1000000')}\n")
    assert not any("has no unit" in each.message for each in plain.untaken)
