"""Every mistake in a topology is told at its line, and all of them at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Said = Callable[[str], list[str]]

LINK = """\
about: Two hosts.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    {}
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rate: -1 Mbit/s", "links.path.rate: rate '-1 Mbit/s' is negative"),
        ("rate: 100", "links.path.rate: rate '100' lacks a unit: use one of Tbit/s, Gbit/s, Mbit/s, kbit/s, bit/s"),
        ("rate: 0 bit/s", "links.path.rate: a rate of zero carries nothing: leave it out for an unlimited one"),
        ("delay: 10 Ms", "links.path.delay: duration '10 Ms' has the unknown unit 'Ms': use one of min, s, ms, us, ns"),
        ("dealy: 10 ms", "links.path.dealy: unknown key, did you mean 'delay'?"),
        ("loss: 101 %", "links.path.loss: '101 %' is not within 0 % and 100 %"),
        ("loss: -1 %", "links.path.loss: '-1 %' is not within 0 % and 100 %"),
        ("loss: 0.01", "links.path.loss: share '0.01' lacks a unit: write it like '1 %'"),
        ("forward: {delay: 1 ms, jitter: 2 ms}", "links.path.forward.jitter: 2 ms is more than the delay of 1 ms"),
        ("reorder: 1 %", "links.path.reorder: a frame overtakes only where the others have a delay"),
        ("shaper: nic", "links.path.shaper: a nic without a rate does not shape"),
        ("shaper: card", "links.path.shaper: 'card' should be path or nic"),
        ("mtu: 67 B", "links.path.mtu: an MTU of 67 B is not within 68 B and 65535 B"),
        ("limit: 0", "links.path.limit: '0': input should be greater than or equal to 1"),
        ("limit: many", "links.path.limit: 'many': input should be a valid integer"),
        ("forward: 3", "links.path.forward: should be a mapping of keys to values"),
        ("ends: [sender, receiver]", "'ends' is given twice, first on line 5"),
    ],
)
def test_a_link_says_what_is_wrong(mistakes: Said, line: str, message: str) -> None:
    assert mistakes(LINK.format(line)) == [f"6: {message}"]


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("{addresses: [192.0.2.1]}", "addresses.0: '192.0.2.1' lacks its prefix length: write it like '192.0.2.1/24'"),
        (
            "{addresses: [192.0.2.0/24]}",
            "addresses.0: '192.0.2.0/24' is the network or broadcast address of 192.0.2.0/24",
        ),
        ("{addresses: [here]}", "addresses.0: 'here' is not an address: write it like '192.0.2.1/24'"),
        ("{offloads: {tos: true}}", "offloads.tos: unknown key, did you mean 'tso'?"),
        ("{gso_max_segs: 0}", "gso_max_segs: '0': input should be greater than or equal to 1"),
    ],
)
def test_an_end_says_what_is_wrong(mistakes: Said, end: str, message: str) -> None:
    text = f"about: Two hosts.\nhosts: [a, b]\nlinks:\n  path:\n    ends:\n      a: {end}\n      b:\n"
    assert mistakes(text) == [f"6: links.path.ends.a.{message}"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hosts: [a, b\nabout: x", ["2: not YAML: while parsing a flow sequence, expected ',' or ']', but got ':'"]),
        ("- a\n- b", ["1: should be a mapping of keys to values"]),
        ("", ["1: about: missing: say what the topology is in a sentence", "1: hosts: missing: name at least one"]),
        ("about: x\nhosts: [a, b]", ["2: hosts.0: 'a' has no link", "2: hosts.1: 'b' has no link"]),
        ("about: x\nhosts: []", ["2: hosts: name at least one"]),
        ("about: x\nhosts: [a]\nrouters: [a]", ["3: routers.0: 'a' is already one of the hosts"]),
        (
            "about: x\nhosts: [a b]",
            ["2: hosts.a b: 'a b' is not a name: up to 32 letters, digits, '-' and '_', a letter first"],
        ),
        ("about: x\nhosts: [a]\nlinkz: {}", ["3: linkz: unknown key, did you mean 'links'?"]),
        ("about: x\nhosts: [a]\nlinks:\n  l: {ends: [a, a]}", ["4: links.l.ends: joins 'a' to itself"]),
        (
            "about: x\nhosts: [a]\nlinks:\n  a: {ends: [a, a]}",
            ["4: links.a.ends: joins 'a' to itself", "4: links.a: 'a' is already one of the hosts"],
        ),
        ("about: x\nhosts: [a, b]\nlinks:\n  l: {ends: [a, b, a]}", ["4: links.l.ends: a link has two ends, not 3"]),
        (
            "about: x\nhosts: [a, b]\nlinks:\n  l: {}",
            [
                "2: hosts.0: 'a' has no link",
                "2: hosts.1: 'b' has no link",
                "4: links.l.ends: missing: name the two nodes that the link joins",
            ],
        ),
        (
            "about: x\nhosts: [a]\nsysctls:\n  kernel.pid_max: 1",
            ["4: sysctls.kernel.pid_max: not a sysctl of a network namespace: its name starts with 'net.'"],
        ),
        (
            "about: x\nhosts: [a]\nsysctls:\n  net.ipv4.tcp_sack: true",
            [
                (
                    "4: sysctls.net.ipv4.tcp_sack: 'True' is not a sysctl's value: "
                    "write a number or a text, with 1 and 0 for on and off"
                )
            ],
        ),
        (
            "about: x\nhosts: [a]\nsysctls:\n  net.ipv4.tcp_rmem: 4096 1",
            ["4: sysctls.net.ipv4.tcp_rmem: '4096 1' should be three rising numbers of bytes: least, initial, most"],
        ),
    ],
)
def test_a_topology_says_what_is_wrong(mistakes: Said, text: str, said: list[str]) -> None:
    assert mistakes(text) == said


def test_an_unknown_host_suggests_the_known_one(mistakes: Said) -> None:
    text = "about: x\nhosts: [sender, receiver]\nlinks:\n  path: {ends: [sender, reciever]}"
    assert "4: links.path.ends.1: unknown node 'reciever', did you mean 'receiver'?" in mistakes(text)


SWITCHED = """\
about: Hosts on switches.
hosts: [a, b]
switches: [s, t]
links:
  a: {{ends: [a, s]}}
  b: {{ends: [b, t]}}
  trunk: {}
"""


def test_a_loop_of_switches_is_refused(mistakes: Said) -> None:
    said = mistakes(
        SWITCHED.replace("  a:", "  la:").replace("  b:", "  lb:").format("{ends: [s, t]}\n  again: {ends: [t, s]}")
    )
    assert said == ["8: links.again: closes a loop of switches"]


def test_a_subnet_has_one_mtu(mistakes: Said) -> None:
    said = mistakes(SWITCHED.replace("  a:", "  la:").replace("  b:", "  lb:").format("{ends: [s, t], mtu: 9000 B}"))
    assert said == [
        f"7: links.trunk: an MTU of 9000 B {way}, where the switch joins links of 1500 B" for way in ("back", "forward")
    ]


def test_addresses_of_a_subnet_agree(mistakes: Said) -> None:
    ends = (
        "about: x\nhosts: [a, b]\nlinks:\n  l:\n    ends:\n      a: {{addresses: [{}]}}\n      b: {{addresses: [{}]}}\n"
    )
    assert mistakes(ends.format("192.0.2.1/24", "192.0.3.1/24")) == [
        "7: links.l.ends.b.addresses.0: '192.0.3.1/24' is not in 192.0.2.0/24, which this subnet has"
    ]
    assert mistakes(ends.format("192.0.2.1/24", "192.0.2.1/24")) == [
        "7: links.l.ends.b.addresses.0: '192.0.2.1/24' is given twice"
    ]


def test_ipv6_needs_its_mtu(mistakes: Said) -> None:
    text = "about: x\nhosts: [a, b]\nlinks:\n  l:\n    mtu: 1279 B\n    ends: {a: {addresses: [2001:db8::1/64]}, b: }"
    assert mistakes(text) == [
        "6: links.l.ends.a.addresses.0: IPv6 needs an MTU of 1280 B both ways, which this subnet does not have"
    ]


def test_subnets_do_not_overlap(mistakes: Said) -> None:
    text = (
        "about: x\nhosts: [a, b]\nlinks:\n  one: {ends: [a, b]}\n  two: {ends: {a: {addresses: [10.0.1.9/16]}, b: }}\n"
    )
    assert mistakes(text) == ["5: links.two: its subnet 10.0.0.0/16 overlaps with 10.0.1.0/24 of link 'one'"]


def test_all_mistakes_come_at_once(mistakes: Said) -> None:
    text = LINK.format("rate: -1 Mbit/s\n    dealy: 1 ms\n    forward: {loss: 5}\n  q:\n    ends: [sender, nobody]")
    assert len(mistakes(text)) == 4
