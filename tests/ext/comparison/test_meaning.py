"""The first packet that differs names the part of TCP that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.utils import wrpcap

from lab.ext.comparison.meaning import Meaning
from lab.ext.comparison.packets import first_packet_difference
from lab.metric.capture import Capture
from tests.examples import examples
from tests.frames import ETHERNET

Tell = Callable[[Sequence[Any], Sequence[Any]], Meaning]


def segment(at: float, who: int, flags: str, seq: int, ack: int = 0, **more: Any) -> Any:
    """A segment of host 1 or 2 at that time, in seconds, with `data` bytes."""
    data = more.pop("data", 0)
    header = TCP(flags=flags, seq=seq, ack=ack, sport=who, dport=3 - who, **more)
    frame = ETHERNET / IP(src=f"10.0.0.{who}", dst=f"10.0.0.{3 - who}") / header / (b"x" * data)
    frame.time = at
    return frame


def start(shift: int = 7) -> list[Any]:
    """A handshake over a path with a round trip of 10 ms, as host 1 sees it."""
    options = [("MSS", 1460), ("WScale", shift)]
    return [
        segment(0, 1, "S", 0, options=options),
        segment(0.01, 2, "SA", 0, 1, options=options),
        segment(0.01, 1, "A", 1, 1),
    ]


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def tell(base: Sequence[Any], new: Sequence[Any]) -> Meaning:
        for name, packets in (("base", base), ("new", new)):
            wrpcap(str(tmp_path / name), [*packets], linktype=1)
        where = first_packet_difference(Capture(tmp_path / "base"), Capture(tmp_path / "new"))
        assert where
        return where.meaning

    return tell


def test_a_delayed_ack_waits_longer_apart_from_the_path(tell: Tell) -> None:
    data = segment(0.02, 1, "PA", 1, 1, data=5)
    base, new = ([*start(), data, segment(0.03 + wait, 2, "A", 1, 6)] for wait in (0.04, 0.06))
    assert tell(base, new) == Meaning("Delayed ACK", "an ACK waits 60.00 ms; on the base kernel 40.00 ms")


def test_an_ack_that_is_hardly_later_is_no_delayed_ack(tell: Tell) -> None:
    data = segment(0.02, 1, "PA", 1, 1, data=5)
    base, new = ([*start(), data, segment(0.03 + wait, 2, "A", 1, 6)] for wait in (0.000_125, 0.000_127))
    assert tell(base, new) == Meaning(
        "Time of ACKs", "an ACK without new data comes 2.000 µs later than on the base kernel"
    )


def test_a_delayed_ack_that_data_overtakes_is_one_too(tell: Tell) -> None:
    data, more = segment(0.02, 1, "PA", 1, 1, data=5), segment(0.08, 1, "PA", 6, 1, data=5)
    base = [*start(), data, segment(0.07, 2, "A", 1, 6), more]
    new = [*start(), data, more, segment(0.09, 2, "A", 1, 11)]
    assert tell(base, new) == Meaning("Delayed ACK", "an ACK waits 60.00 ms; on the base kernel 40.00 ms")
    assert tell(base, [*start(), data, more]) == Meaning(
        "Delayed ACK", "only on the base kernel, an ACK waits 40.00 ms"
    )


def test_a_window_is_told_in_bytes(tell: Tell) -> None:
    """The largest of all windows; or the first that differs, if the largest are the same."""

    def windows(*sizes: int) -> list[Any]:
        acks = (segment(0.03 + 0.01 * step, 2, "A", 1, 1449, window=size) for step, size in enumerate(sizes))
        return [*start(), segment(0.02, 1, "A", 1, 1, data=1448), *acks]

    assert tell(windows(8, 9), windows(6, 7)) == Meaning(
        "Receive window", "a host offers up to 896 B; on the base kernel 1,152 B"
    )
    assert tell(windows(8, 9), windows(6, 9)) == Meaning(
        "Receive window", "a host offers 768 B after 1,449 B; on the base kernel 1,024 B"
    )


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (
            [segment(0.02, 1, "A", 1, 1, data=1448)],
            [segment(0.02, 1, "A", 1, 1, data=1444)],
            Meaning("Segment size", "a segment has 1,444 B of data; on the base kernel 1,448 B"),
        ),
        (
            [segment(0.02, 1, "A", 1, 1, data=9)],
            [segment(0.02, 1, "AC", 1, 1, data=9)],
            Meaning("ECN", "CWR only on the new kernel"),
        ),
        (
            [segment(0.02, 1, "A", 1, 1, data=9), segment(0.32, 1, "A", 1, 1, data=9)],
            [segment(0.02, 1, "A", 1, 1, data=9), segment(0.22, 1, "A", 1, 1, data=9)],
            Meaning("Retransmission", "a segment is retransmitted 100.0 ms sooner than on the base kernel"),
        ),
        (
            [segment(0.02, 1, "A", 1, 1, data=9), segment(0.03, 2, "A", 1, 10)],
            [segment(0.02, 1, "A", 1, 1, data=9), segment(0.02, 1, "A", 10, 1, data=9), segment(0.03, 2, "A", 1, 19)],
            Meaning("ACK frequency", "only the base kernel sends an ACK after 10 B"),
        ),
        (
            [segment(0.02, 1, "A", 1, 1, data=9), segment(0.03, 2, "A", 1, 10)],
            [segment(0.02, 1, "A", 1, 1, data=9), segment(0.02, 1, "A", 10, 1, data=9), segment(0.03, 2, "A", 1, 10)],
            Meaning("Data in flight", "only the new kernel sends 9 B more before the other host answers"),
        ),
        (
            [segment(0.02, 1, "A", 1, 1, data=9)],
            [],
            Meaning("Number of packets", "only the base kernel sends a further packet, 9 B of data"),
        ),
    ],
)
def test_what_changed(tell: Tell, base: Sequence[Any], new: Sequence[Any], expected: Meaning) -> None:
    assert tell([*start(), *base], [*start(), *new]) == expected


_SEGMENTS = st.lists(
    st.builds(
        segment,
        st.floats(0, 1),
        st.sampled_from((1, 2)),
        st.sampled_from(("A", "S", "SA", "F", "R", "PA", "")),
        st.integers(0, 2**32 - 1),
        st.integers(0, 2**32 - 1),
        data=st.integers(0, 20),
        window=st.integers(0, 65535),
        options=st.sampled_from(([], [("MSS", 1)], [("WScale", 255)], [("SAck", (1, 2))])),
    ),
    min_size=1,
    max_size=6,
)


@given(base=_SEGMENTS, new=_SEGMENTS)
@examples(100)
def test_any_two_captures_have_a_meaning(base: Sequence[Any], new: Sequence[Any], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("captures")
    for name, packets in (("base", base), ("new", new)):
        wrpcap(str(folder / name), [*packets], linktype=1)
    where = first_packet_difference(Capture(folder / "base"), Capture(folder / "new"))
    assert where is None or (where.meaning.topic and where.meaning.says)
