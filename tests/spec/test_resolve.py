"""What a topology leaves open is decided, the same way every time."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from math import ceil
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.guest.network import Kind, Network, Shaper
from lab.spec import baseline, document, find
from lab.spec.resolve import UNLIMITED, ample_limit, usual_limit, usual_queue
from lab.spec.schema import json_schema
from lab.spec.topology import Topology, parse
from lab.units import Duration, Rate, Size, from_plain, to_plain

Parse = Callable[[str], Topology]
SHIPPED = Path(__file__).parents[2] / "topologies"


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema())


def test_the_shipped_topologies_resolve_and_survive_json() -> None:
    for path in SHIPPED.glob("*.yaml"):
        network = find.topology(str(path)).network
        assert from_plain(json.loads(json.dumps(to_plain(network))), Network) == network, path


def test_the_shipped_topologies_fit_the_schema() -> None:
    wrong = {path.stem: [*validator().iter_errors(document.read(path).data)] for path in SHIPPED.glob("*.yaml")}
    assert {name: errors for name, errors in wrong.items() if errors} == {}
    assert wrong


def test_the_schema_explains_every_key() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    parts = [schema, *schema["$defs"].values()]
    assert all("description" in key for part in parts for key in part.get("properties", {}).values())


@pytest.mark.parametrize("text", ["rate: 1 Gbps", "loss: 0.1", "dealy: 1 ms", "ends: [a]", "limit: 0"])
def test_the_schema_refuses_what_the_reader_refuses(text: str) -> None:
    data = document.parse(f"about: x\nhosts: [a, b]\nlinks:\n  l: {{{text}}}", Path("net.yaml")).data
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({**data, "links": {"l": {"ends": ["a", "b"], **data["links"]["l"]}}})


def test_two_hosts_get_addresses_names_and_macs(topology: Parse) -> None:
    network = topology("about: x\nhosts: [a, b]\nlinks:\n  l: {ends: [a, b], rate: 1 Gbit/s}").network
    a, b = network.links[0].ends
    assert (a.name, a.mac, a.addresses) == ("eth0", "02:00:00:00:01:01", ("10.0.1.1/24", "fd00:1::1/64"))
    assert (b.name, b.mac, b.addresses) == ("eth0", "02:00:00:00:01:02", ("10.0.1.2/24", "fd00:1::2/64"))
    assert network.address("b") == "10.0.1.2"
    assert network.address("b", 6) == "fd00:1::2"
    assert all(not node.routes for node in network.nodes)


def test_a_direction_goes_above_what_both_share(topology: Parse) -> None:
    link = topology(
        "about: x\nhosts: [a, b]\nlinks:\n  l: {ends: [a, b], rate: 1 Gbit/s, delay: 1 ms, loss: 0.5 %, shaper: nic,"
        " forward: {delay: 9 ms}, back: {limit: 7, duplicate: 2 %, jitter: 1 us}}"
    ).network.links[0]
    assert (link.forward.delay, link.back.delay) == (Duration.of("9 ms"), Duration.of("1 ms"))
    assert (link.forward.loss, link.back.loss) == (0.005, 0.005)
    assert (link.back.limit, link.back.duplicate, link.back.jitter) == (7, 0.02, Duration.of("1 us"))
    assert link.forward.shaper is Shaper.NIC


def test_a_host_starts_from_the_baseline_and_goes_its_own_way(topology: Parse) -> None:
    network = topology(
        "about: x\nhosts:\n  a: {sysctls: {net.ipv4.tcp_sack: 0}}\n  b:\nrouters: [r]\n"
        "sysctls: {net.ipv4.tcp_timestamps: 0}\nlinks:\n  l: {ends: [a, r]}\n  m: {ends: [r, b]}"
    ).network
    a, b, router = (network.node(name).sysctls for name in "abr")
    assert (a["net.ipv4.tcp_sack"], b["net.ipv4.tcp_sack"]) == ("0", "1")
    assert a["net.ipv4.tcp_timestamps"] == b["net.ipv4.tcp_timestamps"] == "0"
    assert a["net.ipv4.tcp_rmem"] == baseline.HOST["net.ipv4.tcp_rmem"]
    assert (router["net.ipv4.ip_forward"], router["net.ipv6.conf.default.accept_dad"]) == ("1", "0")


def test_a_switch_makes_one_subnet(topology: Parse) -> None:
    network = topology(
        "about: x\nhosts: [a, b, c]\nswitches: [s]\n"
        "links:\n  la: {ends: [a, s]}\n  lb: {ends: [s, b]}\n  lc: {ends: [c, s]}"
    ).network
    assert [network.address(host) for host in "abc"] == ["10.0.1.1", "10.0.1.2", "10.0.1.3"]
    assert [end.name for end in network.interfaces("s")] == ["eth0", "eth1", "eth2"]
    assert all(not end.addresses for end in network.interfaces("s"))
    assert network.node("s").kind is Kind.SWITCH
    assert all(not node.routes for node in network.nodes)


def test_routes_take_the_fewest_routers(topology: Parse) -> None:
    network = topology(
        "about: x\nhosts: [a, b]\nrouters: [r, s, t]\nlinks:\n"
        "  ar: {ends: [a, r]}\n  rs: {ends: [r, s]}\n  st: {ends: [s, t]}\n  rt: {ends: [r, t]}\n  tb: {ends: [t, b]}"
    ).network
    routes = {(node.name, route.to): route for node in network.nodes for route in node.routes}
    assert routes["a", "10.0.5.0/24"].via == "10.0.1.2"
    assert routes["r", "10.0.5.0/24"].via == "10.0.4.2"
    assert routes["r", "10.0.5.0/24"].interface == "eth2"
    assert routes["b", "fd00:1::/64"].via == "fd00:5::1"
    assert ("a", "10.0.1.0/24") not in routes


def test_hosts_do_not_forward(topology: Parse) -> None:
    network = topology("about: x\nhosts: [a, m, b]\nlinks:\n  am: {ends: [a, m]}\n  mb: {ends: [m, b]}").network
    assert all(not node.routes for node in network.nodes)


def test_given_addresses_decide_the_subnet(topology: Parse) -> None:
    network = topology(
        "about: x\nhosts: [a, b]\nlinks:\n  l: {ends: {a: , b: {addresses: [192.0.2.1/30, 2001:db8::9/64]}}}"
    ).network
    assert network.links[0].ends[0].addresses == ("192.0.2.2/30", "2001:db8::1/64")
    assert network.links[0].ends[1].addresses == ("192.0.2.1/30", "2001:db8::9/64")


def test_an_asymmetric_mtu_receives_the_larger_and_sends_the_smaller(topology: Parse) -> None:
    network = topology(
        "about: x\nhosts: [a, b]\nrouters: [r]\nlinks:\n"
        "  l: {ends: [a, b], back: {mtu: 500 B}}\n  m: {ends: [b, r], mtu: 9000 B, forward: {mtu: 1500 B}}\n"
        "  n: {ends: [r, a]}"
    ).network
    assert [end.mtu for link in network.links for end in link.ends] == [
        Size(mtu) for mtu in (1500, 1500, 9000, 9000, 1500, 1500)
    ]
    routes = {route.to: route for route in network.node("b").routes}
    assert (routes["10.0.1.0/24"].via, routes["10.0.1.0/24"].mtu) == (None, Size(500))
    assert (routes["10.0.3.0/24"].via, routes["10.0.3.0/24"].mtu) == ("10.0.2.2", Size(1500))
    assert all(route.mtu is None for route in network.node("a").routes)


def test_ipv6_is_off_below_its_mtu(topology: Parse) -> None:
    network = topology("about: x\nhosts: [a, b]\nlinks:\n  l: {ends: [a, b], back: {mtu: 1279 B}}").network
    assert [end.addresses for end in network.links[0].ends] == [("10.0.1.1/24",), ("10.0.1.2/24",)]
    assert network.node("a").sysctls["net.ipv6.conf.default.disable_ipv6"] == "1"


def test_advmss_is_the_routes(topology: Parse) -> None:
    network = topology("about: x\nhosts: [a, b]\nlinks:\n  l: {ends: {a: {advmss: 1460 B}, b: }}").network
    assert [(route.to, route.via, route.advmss) for route in network.node("a").routes] == [
        ("10.0.1.0/24", None, Size(1460)),
        ("fd00:1::/64", None, Size(1460)),
    ]


def test_an_end_goes_above_its_host(topology: Parse) -> None:
    network = topology(
        "about: x\nhosts: {a: {offloads: {gro: true, tso: true}, coalescing: 20 us}, b: }\n"
        "links:\n  l: {ends: {a: {offloads: {tso: false}, gso_max_segs: 1}, b: }}\n  m: {ends: [a, b]}"
    ).network
    first, second = network.interfaces("a")
    assert (first.offloads.tso, first.offloads.gro, first.gso_max_segs) == (False, True, 1)
    assert (second.offloads.tso, second.gso_max_segs) == (True, None)
    assert (first.gro_flush_timeout, first.napi_defer_hard_irqs) == (Duration.of("20 us"), 1)
    assert network.interfaces("b")[0].napi_defer_hard_irqs == 0


def test_one_host_has_its_loopback(topology: Parse) -> None:
    network = topology("about: x\nhosts: [alone]").network
    assert (network.address("alone"), network.address("alone", 6)) == ("127.0.0.1", "::1")
    with pytest.raises(KeyError):
        network.address("nobody")


rates = st.integers(10**3, 4 * 10**11).map(Rate)
delays = st.integers(0, 10**9).map(Duration)
mtus = st.integers(68, 65535).map(Size)


@given(rates, delays, delays, mtus)
def test_an_ample_limit_holds_what_is_in_flight_and_a_window(
    rate: Rate, delay: Duration, jitter: Duration, mtu: Size
) -> None:
    limit = ample_limit(rate, delay, jitter, mtu)
    for frame in (84, mtu.bytes + 38):
        in_flight = rate.bps * (delay.seconds + jitter.seconds) / (8 * max(frame, 84))
        assert limit >= in_flight - 1 + ceil(baseline.WINDOW / mtu.bytes)


@given(rates, rates, delays, delays, mtus)
def test_an_ample_limit_grows_with_rate_and_delay(
    one: Rate, two: Rate, near: Duration, far: Duration, mtu: Size
) -> None:
    none = Duration(0)
    small = ample_limit(min(one, two), min(near, far), none, mtu)
    assert small <= ample_limit(max(one, two), max(near, far), none, mtu)


def test_a_link_without_a_rate_is_ample() -> None:
    assert ample_limit(None, Duration.of("1 s"), Duration(0), Size(1500)) == UNLIMITED


def test_the_limit_at_a_gigabit_over_100_ms() -> None:
    assert ample_limit(Rate.of("1 Gbit/s"), Duration.of("100 ms"), Duration(0), Size(1500)) == 148_810 + 4_195


@pytest.mark.parametrize(
    ("rate", "mtu", "frames"),
    [
        ("64 kbit/s", 1500, 20),
        ("1 Mbit/s", 1500, 20),
        ("10 Mbit/s", 1500, 82),
        ("100 Mbit/s", 1500, 813),
        ("100 Mbit/s", 9000, 139),
        ("1 Gbit/s", 1500, 4195),
        ("10 Gbit/s", 1500, 4195),
    ],
)
def test_a_link_queues_100_ms_of_full_frames(rate: str, mtu: int, frames: int) -> None:
    """Two initial windows at least, and one receive window at most."""
    assert usual_queue(Rate.of(rate), Size(mtu)) == frames


@given(rates, delays, delays, mtus)
def test_the_usual_queue_is_beside_what_is_in_flight(rate: Rate, delay: Duration, jitter: Duration, mtu: Size) -> None:
    ample = ample_limit(rate, delay, jitter, mtu)
    beside = usual_limit(rate, delay, jitter, mtu) - usual_queue(rate, mtu)
    assert beside + ceil(baseline.WINDOW / mtu.bytes) == ample


def test_a_topology_chooses_its_limit(topology: Parse) -> None:
    """A number, the word, or what is usual; a queue of the link's own takes the place of the last two."""

    def limits(line: str) -> tuple[int, int | None]:
        way = topology(f"about: x\nhosts: [a, b]\nlinks:\n  l: {{ends: [a, b], rate: 10 Mbit/s{line}}}").network.links[
            0
        ]
        found = way.forward.queue
        return way.forward.limit, int(dict(found.parameters)["limit"]) if found else None

    changing = ", changes: [{at: 1 s, rate: 5 Mbit/s}]"
    assert limits("") == (82, None)
    assert limits(", limit: 7") == (7, None)
    assert limits(", limit: ample") == (4195, None)
    assert (
        limits(", queue: {kind: pfifo, limit: 9}")
        == limits(", limit: ample, queue: {kind: pfifo, limit: 9}")
        == (4195, 9)
    )
    assert limits(changing) == (4195, 82)
    assert limits(", limit: ample" + changing) == (4195, 4195)


@given(st.permutations(["rate: 1 Gbit/s", "delay: 1 ms", "mtu: 9000 B", "loss: 1 %"]))
def test_the_order_of_keys_means_nothing(keys: list[str]) -> None:
    text = "about: x\nhosts: [a, b]\nlinks:\n  l: {ends: [a, b], KEYS}"
    one, two = (parse(text.replace("KEYS", ", ".join(each)), Path("n.yaml")) for each in (keys, sorted(keys)))
    assert one.network == two.network
