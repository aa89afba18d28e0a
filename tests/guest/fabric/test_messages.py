"""Netlink messages: attributes go in and come out, and a qdisc is described as it was asked for."""

from __future__ import annotations

import struct
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from lab.guest.fabric import qdisc, routes
from lab.guest.fabric.netlink import Netlink, attribute, attributes
from lab.guest.network import LAST, Direction, Kind, Node, Shaper, Vrf
from lab.units import Duration, Rate, Size

chances = st.floats(0, 1)
directions = st.builds(
    Direction,
    rate=st.none() | st.integers(1, 50 * 10**9).map(lambda bytes_per_second: Rate(8 * bytes_per_second)),
    delay=st.integers(0, 10**12).map(Duration),
    jitter=st.integers(0, 10**10).map(Duration),
    loss=chances,
    reorder=chances,
    duplicate=chances,
    mtu=st.integers(68, 65535).map(Size),
    limit=st.integers(1, 10**6),
    shaper=st.sampled_from(Shaper),
)


@given(st.dictionaries(st.integers(1, 0x3FFF), st.binary(max_size=50)))
def test_attributes_come_out_as_they_went_in(given_attributes: dict[int, bytes]) -> None:
    packed = b"".join(attribute(kind, value) for kind, value in given_attributes.items())
    assert attributes(packed) == given_attributes
    assert len(packed) % 4 == 0


def test_attributes_nest() -> None:
    nested = attributes(attribute(1, [attribute(2, "name"), attribute(3, 7)]))
    assert attributes(nested[1]) == {2: b"name\0", 3: struct.pack("=I", 7)}


@given(directions, st.integers(0, 2**64 - 1))
def test_a_netem_is_described_as_it_was_wanted(direction: Direction, seed: int) -> None:
    described = qdisc.describe(attributes(b"".join(qdisc.netem(direction, seed))))
    assert described["kind"] == "netem"
    assert int(described["options"].pop("seed"), 16) == seed
    assert described["options"] == qdisc.netem_wanted(direction)


def test_a_seed_is_the_hash_of_the_names() -> None:
    """Computed with `printf 1/path/forward | sha256sum`: another version of the lab deals the same losses."""
    assert qdisc.prng_seed("1", "path", "forward").to_bytes(8, "little").hex() == "53234e993db4fad9"
    names = [("1", "path", "forward"), ("1", "path", "back"), ("1", "other", "forward"), ("2", "path", "forward")]
    assert len({qdisc.prng_seed(*each) for each in names}) == len(names)


@given(st.integers(1, 50 * 10**9), st.integers(68, 65535), st.integers(1, 10**4))
def test_a_tbf_is_described_as_it_was_wanted(bytes_per_second: int, mtu: int, limit: int) -> None:
    wanted = (Rate(8 * bytes_per_second), Size(mtu), limit)
    described = qdisc.describe(attributes(b"".join(qdisc.tbf(*wanted))))
    assert described["options"] == qdisc.tbf_wanted(*wanted)


def test_counters_are_read() -> None:
    stats = attribute(1, struct.pack("=QI", 1514, 1)) + attribute(3, struct.pack("=5I", 9, 2, 3, 4, 5))
    found = qdisc.describe({qdisc.TCA_KIND: b"pfifo\0", qdisc.TCA_STATS2: stats})
    assert found == {
        "kind": "pfifo",
        "options": {},
        "bytes": 1514,
        "packets": 1,
        "backlog": 9,
        "drops": 3,
        "overlimits": 5,
    }


class Told:
    """A kernel that tells of these routes, and of no interface."""

    def __init__(self, *bodies: bytes) -> None:
        self.bodies = bodies

    def dump(self, what: str, kind: int, _: bytes) -> tuple[bytes, ...]:  # noqa: ARG002
        return self.bodies if kind == routes.RTM_GETROUTE else ()


def test_the_end_of_a_vrfs_table_is_read_back() -> None:
    node = Node("r", Kind.ROUTER, {}, (), (Vrf("red", 1001, ("eth0",)),))
    end = attribute(6, LAST) + attribute(15, 1001)
    bodies = [bytes([family, 0, 0, 0, 252, 3, 0, 7, 0, 0, 0, 0]) + end for family in (2, 10)]

    def wrong(*bodies: bytes) -> list[str]:
        found = routes.differences(cast("Netlink", Told(*bodies)), node, (), {})
        return [name for name, wanted, actual in found if wanted != actual]

    assert wrong(*bodies) == []
    assert wrong(bodies[0]) == ["r: the end of the table of VRF red, ::/0"]
