"""Whatever `lab check` accepts can be encoded for the kernel: no number is too large for its attribute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from lab.guest.fabric import build, device, overlay, qdisc, shaper, stage, wire
from lab.guest.fabric.netlink import Netlink, Request
from lab.guest.fabric.timeline import states
from lab.guest.network import WAYS, Network
from lab.spec import queue as queues
from lab.spec.errors import SpecError
from lab.spec.topology import parse
from lab.units import Duration, Rate, Size


class Deaf(Netlink):
    """Takes every request, and sends none."""

    def __init__(self) -> None:
        pass

    def do_all(self, requests: Sequence[Request]) -> None:
        assert requests

    def ioctl(self, command: int, request: bytes) -> bytes:  # noqa: ARG002  # any interface has a number
        return device._IFREQ.pack(b"eth0", 1)


def encode(network: Network) -> None:
    """Encode every qdisc, overlay and route of a network as the fabric does."""
    deaf = Deaf()
    for link in network.links:
        for way, (_, direction, _) in zip(WAYS, link.directions(), strict=True):
            chance = ("1", link.name, way)
            wire.insert(deaf, "w0a", direction, chance)
            if direction.queue and direction.queue.is_bucket:
                stage._insert_bucket(deaf, "q0a", direction)
            elif direction.queue:
                stage._insert_queue(deaf, "q0a", direction, direction.queue)
            if card := build.nic(direction):
                device.add_qdisc(deaf, "eth0", qdisc.tbf(*card))
            for _, now in islice(states(direction, "1", way), 5):
                wire.change(deaf, "w0a", now, chance)
                if now.rate and now.rate != direction.rate:
                    device.set_class(deaf, "q0a", shaper.htb_class(now.rate))
    for each in network.overlays:
        for _, side in each.sides():
            overlay._wanted(each, side)
    for node in network.nodes:
        for route in node.routes:
            device.add_route(deaf, route)


def numbers(most: int) -> st.SearchStrategy[int]:
    """Small numbers, the neighbours of powers of two, and the largest."""
    near: st.SearchStrategy[int] = st.builds(
        lambda bits, off: (1 << bits) + off, st.integers(0, most.bit_length()), st.integers(-1, 1)
    )
    return st.one_of(st.integers(0, 3000), near, st.integers(0, most)).map(lambda number: max(0, min(number, most)))


RATES = numbers(Rate.most // 8).map(lambda number: str(Rate(8 * number)))
TIMES = numbers(Duration.most).map(lambda number: str(Duration(number)))
SIZES = numbers(2**64).map(lambda number: str(Size(number)))
SHARES = st.sampled_from(["0 %", "0.00001 %", "10 %", "99.99 %", "100 %"])
COUNTS = numbers(2**33)


def _value(reader: Any) -> st.SearchStrategy[Any]:
    """Return what a parameter may be, and a little more."""
    match reader:
        case queues.Whole():
            return numbers(2 * reader.most)
        case queues.Sized():
            return numbers(2 * reader.most).map(lambda number: str(Size(number)))
        case queues._flag:
            return st.booleans()
        case queues._rate:
            return RATES
        case queues._share:
            return SHARES
        case queues._power_of_2:
            return st.integers(0, 17).map(lambda bits: 1 << bits)
        case _:
            return numbers(2**33).map(lambda us: str(Duration(1000 * us)))


@st.composite
def queue(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from([*queues.KINDS]))
    readers = queues.KINDS[kind]
    some = draw(st.lists(st.sampled_from([*readers]), unique=True, max_size=2))
    return {"kind": kind, **{name: draw(_value(readers[name])) for name in (*queues.NEEDED.get(kind, ()), *some)}}


CHANGE = st.fixed_dictionaries({"at": TIMES}, optional={"rate": RATES, "delay": TIMES, "loss": SHARES, "down": TIMES})
KEYS = {
    "delay": TIMES,
    "jitter": TIMES,
    "loss": SHARES,
    "duplicate": SHARES,
    "corrupt": SHARES,
    "reorder": SHARES,
    "reorder_gap": COUNTS,
    "mtu": st.integers(60, 65600).map(lambda number: f"{number} B"),
    "limit": st.one_of(COUNTS, st.just("ample")),
    "shaper": st.sampled_from(["path", "nic"]),
    "slot": st.fixed_dictionaries({"min": TIMES, "max": TIMES}, optional={"packets": COUNTS, "bytes": SIZES}),
    "queue": queue(),
    "delays": st.dictionaries(st.sampled_from(["a", "b", "10.0.0.0/8"]), TIMES, min_size=1),
    "changes": st.lists(CHANGE, min_size=1, max_size=2),
}


@st.composite
def way(draw: st.DrawFn) -> dict[str, Any]:
    """A direction with a few settings: with many, one of them would be wrong almost always."""
    chosen = draw(st.lists(st.sampled_from([*KEYS]), unique=True, max_size=2))
    rate = draw(st.none() | RATES)
    return {**({"rate": rate} if rate else {}), **{key: draw(KEYS[key]) for key in chosen}}


ROUTE = st.fixed_dictionaries(
    {"to": st.sampled_from(["b", "default", "10.9.0.0/16"]), "via": st.sampled_from(["b", {"b": 256}])},
    optional={"metric": COUNTS, "advmss": SIZES, "mtu": SIZES, "initcwnd": COUNTS, "initrwnd": COUNTS},
)
OVERLAY = st.one_of(
    st.fixed_dictionaries({"bond": st.just(["x", "y"]), "probe": TIMES}),
    st.fixed_dictionaries({"vlan": COUNTS, "over": st.just("l")}),
    st.fixed_dictionaries({"tunnel": st.sampled_from(["gre", "vxlan"])}, optional={"id": COUNTS}),
)


@given(way(), st.lists(ROUTE, max_size=1), st.none() | OVERLAY)
@example({"rate": "8 bit/s"}, [], None)
@example({"rate": "100 Gbit/s", "delay": "60 min"}, [], None)
@example({"rate": str(Rate(Rate.most)), "queue": {"kind": "codel"}}, [], None)
@example({"rate": "1 Gbit/s", "shaper": "nic", "limit": 2**32 - 1}, [], None)
@example({}, [{"to": "b", "via": "b", "advmss": "9999999999 B"}], None)
@example({}, [], {"bond": ["x", "y"], "probe": "2000 h"})
@example(
    {"rate": "1 Mbit/s", "queue": {"kind": "red", "limit": "9 kB", "min": "1 kB", "max": "3 kB", "ewma": 64}}, [], None
)
@example(
    {"rate": "1 Mbit/s", "queue": {"kind": "red", "limit": "9 kB", "min": "1 kB", "max": "3 kB", "avpkt": "0 B"}},
    [],
    None,
)
def test_what_is_accepted_can_be_encoded(forward: Any, routes: Any, over: Any) -> None:
    wires = {name: {"ends": ["a", "b"]} for name in ("x", "y")}
    links: dict[str, Any] = {"l": {"ends": ["a", "b"], "forward": forward}, **wires}
    if over:
        links["over"] = {"ends": ["a", "b"], **over}
    text = json.dumps({"about": "x", "hosts": {"a": {"routes": routes}, "b": {}}, "links": links})
    with suppress(SpecError):
        encode(parse(text, Path("net.yaml")).network)
