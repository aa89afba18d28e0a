"""The laws beside the simulations, against arithmetic done by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lab import model
from lab.guest.network import Change
from lab.guest.task import Writer
from lab.guest.workload import Iperf3, SmallWrites, WriteStyle
from lab.model import ModelError, Scenario
from lab.model.window import rcv_window, smaller_window
from lab.units import Duration, Rate, Size, Value
from tests.examples import examples
from tests.model.scenarios import hop, host, scenario

MBIT = 941.482e6  # the goodput of a full gigabit link
RTT = 0.1 + 2 * 122 * 8e-9


def path(delay: str = "100 ms", limit: int = 20_000, loss: float = 0.0, **changed: Any) -> Scenario:
    there, back = (hop(delay=way, limit=limit, loss=loss) for way in (delay, "0 s"))
    return scenario(there, back, **changed)


def writes(way: WriteStyle, size: str = "2 B", file: str = "0 B", writes: int = 15) -> Scenario:
    asked = SmallWrites(messages=10, writes=writes, size=Size.of(size), file=Size.of(file), way=way)
    return path("1 ms", writer=asked.writer())


def test_the_smaller_window_passes_once_per_round_trip() -> None:
    small, large = path(sndbuf=1_000_000), path(sndbuf=60 << 20)
    assert model.goodput_window_over_rtt(small).number == pytest.approx(8e6 / RTT)
    assert model.goodput_window_over_rtt(large).number == pytest.approx(8 * rcv_window(large) / RTT)
    assert model.goodput_window_over_rtt(path("1 ms")).number == pytest.approx(MBIT, rel=1e-5)
    assert model.idle_share_of_window(small).number == pytest.approx(1 - 8e6 / RTT / MBIT, rel=1e-5)


def test_a_bottleneck_holds_the_window() -> None:
    frames = 691  # 1,000,000 B / 1,448 B, rounded up
    assert model.frames_of_window(path(sndbuf=1_000_000)) == Value(frames, "1")
    for limit, drops in ((frames - 1, 1), (frames, 0)):
        assert model.any_drops_of_window(path(sndbuf=1_000_000, limit=limit)) == Value(drops, "1")
    assert model.lost_frames_of_window(path()) == Value(0, "1")
    with pytest.raises(ModelError, match="no closed form"):
        model.lost_frames_of_window(path(limit=10))


def test_a_transfer_takes_its_rounds_and_the_rest() -> None:
    near, far = path("0 s", writer=Writer(size=10**9)), path(sndbuf=1_000_000, writer=Writer(size=14_480 * 7))
    assert model.transfer_time_by_rounds(near).number == pytest.approx(8e9 / MBIT, rel=1e-3)
    # The handshake; 10 and 20 segments take a round each, and the last 40 go at 1 MB a round trip.
    expected = 3 * RTT + 14_480 * 4 / 1e6 * RTT
    assert model.transfer_time_by_rounds(far).number == pytest.approx(expected)


@pytest.mark.parametrize(
    ("way", "size", "file", "packets", "first", "rounds", "stalls"),
    [
        ("plain", "2 B", "0 B", 2, 2, 2, True),
        ("nodelay", "2 B", "0 B", 15, 2, 1, False),
        ("cork", "2 B", "0 B", 1, 30, 1, False),
        ("writev", "2 B", "0 B", 1, 30, 1, False),
        ("one-buffer", "2 B", "2 KiB", 3, 30, 1, False),
        ("cork", "2 B", "2 KiB", 2, 1448, 1, False),
        ("plain", "103 B", "0 B", 2, 103, 2, True),  # 14 pieces of 103 B are less than 1,448 B
        ("plain", "104 B", "0 B", 3, 104, 2, False),
        ("plain", "1448 B", "0 B", 15, 1448, 1, False),
    ],
)
def test_messages_by_their_writes(
    way: WriteStyle, size: str, file: str, packets: int, first: int, rounds: int, stalls: bool
) -> None:
    asked = writes(way, size, file)
    latency = rounds * (0.001 + 2 * 122 * 8e-9) + 0.04 * stalls
    assert model.data_packets_by_writes(asked) == Value(packets, "1")
    assert model.first_segment_by_writes(asked) == Value(first, "B")
    assert model.message_latency_by_stall(asked).number == pytest.approx(latency)
    assert model.exchange_time_by_stalls(asked).number == pytest.approx(10 * latency)
    assert model.lone_acks_piggybacked(asked) == Value(0, "1")
    assert model.file_in_first_corked(asked) == Value(int(way == "cork"), "1")


def test_a_law_says_what_it_does_not_cover() -> None:
    for law, about in (
        (model.goodput_window_over_rtt, path(loss=0.01)),
        (model.transfer_time_by_rounds, path()),
        (model.message_latency_by_stall, path()),
        (model.acks_after_hole_at_once, path()),
    ):
        with pytest.raises(ModelError):
            law(about)


@pytest.mark.long
@examples(10)
@given(
    st.integers(10, 100),
    st.integers(20, 120).map(lambda sixteenths: sixteenths << 16),
    st.integers(20, 120).map(lambda sixteenths: sixteenths << 16),
)
def test_no_window_carries_more_than_its_law(milliseconds: int, sndbuf: int, rcvbuf: int) -> None:
    writer = structs.replace(Iperf3(duration=Duration.of("2 s")).writer(), control=False)
    for sender in (host(), host(gso_max_segs=1)):
        each = path(f"{milliseconds} ms", sndbuf=sndbuf, rcvbuf=rcvbuf, writer=writer, sender=sender)
        edge = 8 * smaller_window(each)  # the measured second may begin just ahead of a window's ACKs
        assert model.goodput_steady(each).number <= model.goodput_window_over_rtt(each).number + edge


def test_bbr_has_two_products_in_flight_and_some_bursts() -> None:
    there, back = hop("50 Mbit/s", "20 ms"), hop("1 Gbit/s", "20 ms")
    alone = scenario(there, back, writer=Writer(congestion="bbr"))
    # 40.25 ms at 4,063.7 frames a second are 163.6. A quantum is 1,500 B x 4,063.7 x 1.25 / 1,024, five segments.
    assert model.bbr_inflight_bound(alone) == Value(328 + 2 + 3 * 5 + 1 + 2, "1")
    slow = scenario(hop("1 Mbit/s", "20 ms"), back, writer=Writer(congestion="bbr"))
    assert model.bbr_inflight_bound(slow) == Value(9 + 2 + 3 * 2 + 1 + 2, "1")
    with pytest.raises(ModelError, match="single flow with BBR"):
        model.bbr_inflight_bound(scenario(there, back, writer=Writer(congestion="cubic")))


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        (Change(Duration.of("4 s"), rate=Rate.of("25 Mbit/s")), True),
        (Change(Duration.of("4 s"), rate=Rate.of("200 Mbit/s")), False),
        (Change(Duration.of("4 s"), rate=Rate.of("25 Mbit/s"), loss=0.1), False),
        (Change(Duration.of("4 s"), delay=Duration.of("1 s")), False),
    ],
    ids=["slower", "faster", "slower and lossy", "longer"],
)
def test_bbrs_bound_is_that_of_the_rate_before_it_falls(change: Change, holds: bool) -> None:
    there, back = hop("100 Mbit/s", "20 ms"), hop("100 Mbit/s")
    bbr = Writer(congestion="bbr")
    later = scenario(structs.replace(there, changes=(change,)), back, writer=bbr)
    if holds:
        assert model.bbr_inflight_bound(later) == model.bbr_inflight_bound(scenario(there, back, writer=bbr))
    else:
        with pytest.raises(ModelError, match="whose rate only falls"):
            model.bbr_inflight_bound(later)


@pytest.mark.parametrize(("load", "frames"), [(0.5, 0.5), (0.8, 2), (0.9, 4.5)])
def test_frames_that_come_by_chance_wait_for_those_before_them(load: float, frames: float) -> None:
    found = model.mean_wait(load)(scenario(hop("10 Mbit/s", "1 ms"), hop("10 Mbit/s", "1 ms")))
    assert found.number == pytest.approx(frames * 1538 * 8 / 10e6)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_more_load_waits_longer(one: float, other: float) -> None:
    about = scenario(hop("10 Mbit/s", "1 ms"), hop("10 Mbit/s", "1 ms"))
    assert (model.mean_wait(one)(about).number < model.mean_wait(other)(about).number) == (one < other)


@pytest.mark.parametrize("load", [0, 1, 1.5, -0.1])
def test_no_queue_has_a_mean_length_at_its_rate(load: float) -> None:
    with pytest.raises(ValueError, match="gives no mean queue"):
        model.mean_wait(load)
