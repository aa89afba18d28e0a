"""The receiver's rules against what they are made of, and against what Linux 7.2 did by them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lab import model
from lab.guest.middlebox import DropSegment
from lab.guest.task import Reader, Writer
from lab.guest.workload import PacedReader, RequestResponse
from lab.model import KernelTraits, ModelError, Scenario
from lab.units import Duration, Rate, Size, Value
from tests.model.scenarios import hop, host, scenario, tuned

NONE: Mapping[str, int] = {}


def path(rate: str = "1 Gbit/s", delay: str = "0 s", hz: int = 1000, **changed: Any) -> Scenario:
    return scenario(hop(rate, delay), kernel=KernelTraits(hz=hz), **changed)


def merging(coalescing: str, **changed: Any) -> Scenario:
    return path(receiver=host(gro=True, coalescing=coalescing), **changed)


def reading(block: str, rate: str = "100 Mbit/s") -> Scenario:
    workload = PacedReader(rate=Rate.of(rate), block=Size.of(block))
    return path(rcvbuf=1 << 20, writer=workload.writer(), reader=workload.reader())


def asleep(duration: str) -> Reader:
    return RequestResponse(asleep=Duration.of(duration)).reader()


def thinking(duration: str) -> Reader:
    return RequestResponse(think=Duration.of(duration)).reader()


def losing(number: int, sysctls: Mapping[str, int] = NONE, segments: int = 140) -> Scenario:
    return path(
        delay="10 ms",
        writer=Writer(size=segments * 1448),
        middleboxes=(DropSegment(node="router", number=number),),
        receiver=tuned(host(), **sysctls),
    )


def test_every_second_segment() -> None:
    assert model.segments_per_ack(path()) == Value(2, "1")
    assert model.segments_per_ack(path(rate="10 Mbit/s", timestamps=False)) == Value(2, "1")
    assert model.segments_per_ack_growing(path()) == Value(1, "1")
    for rule in (model.segments_per_ack, model.segments_per_ack_growing):
        with pytest.raises(ModelError, match="GRO"):
            rule(merging("20 us"))


@pytest.mark.parametrize(
    ("coalescing", "hz", "measured"),
    [
        ("10 us", 1000, 2.001),
        ("20 us", 1000, 29.83),
        ("50 us", 1000, 30.51),
        ("100 us", 1000, 31.49),
        ("200 us", 1000, 33.79),
        ("400 us", 1000, 39.82),
    ],
)
def test_gro(coalescing: str, hz: int, measured: float) -> None:
    assert model.segments_per_batch(merging(coalescing, hz=hz)).number == pytest.approx(measured, rel=0.005)


def test_gro_never_gathers_more_than_a_super_packet() -> None:
    assert model.segments_per_batch(merging("540 us")) == Value(45, "1")
    assert model.segments_per_batch(merging("100 us", hz=100)).number > 43
    for beyond in (merging("600 us"), merging("100 us", sender=host(gso_max_segs=1))):
        with pytest.raises(ModelError, match="full super-packets"):
            model.segments_per_batch(beyond)


def test_a_slow_reader_is_acknowledged_for() -> None:
    assert model.segments_per_read(reading("64 KiB")).number == pytest.approx(45.26, abs=0.01)
    with pytest.raises(ModelError, match="not slower than the link"):
        model.segments_per_read(reading("64 KiB", "2 Gbit/s"))
    with pytest.raises(ModelError, match="a 16th of the buffer"):
        model.segments_per_read(reading("32 KiB"))


def test_packets_of_a_gb() -> None:
    assert model.packets_per_gb(path()) == Value(1e9 / 1448 * 1.5, "1")
    assert model.packets_per_gb(merging("100 us")).number == pytest.approx(44_200, rel=0.005)


def test_delays() -> None:
    answered = path(reader=thinking("20 ms"))
    assert model.ack_after_answer(answered) == Value(0.02, "s")
    out_of_reach = tuned(answered.receiver, tcp_pingpong_thresh=255)
    assert model.ack_after_answer(replace(answered, receiver=out_of_reach)) == Value(0, "s")
    with pytest.raises(ModelError, match="HZ / 25"):
        model.ack_after_answer(path(reader=thinking("50 ms")))
    unread = asleep("9 s")
    assert model.ack_delayed_mean(path(reader=unread)).number == pytest.approx(0.0405)
    assert model.ack_delayed_mean(path(reader=unread, hz=100)).number == pytest.approx(0.045)
    assert model.ack_delayed_longest(path(reader=unread)).number == pytest.approx(0.0405)
    assert model.ack_delayed_longest(path(delay="250 ms", reader=unread)).number == pytest.approx(0.2075)
    with pytest.raises(ModelError, match="grows from ACK to ACK"):
        model.ack_delayed_mean(path(delay="250 ms", reader=unread))
    with pytest.raises(ModelError, match="the reader decides"):
        model.ack_delayed_mean(answered)


def test_behind_a_pause_longer_than_the_rto_an_ack_goes_at_once() -> None:
    def paused(milliseconds: int) -> Scenario:
        writer = Writer(write_size=1, interval=Duration(10**6 * milliseconds))
        return path(delay="5 ms", reader=asleep("9 s"), writer=writer)

    for law in (model.ack_delayed_mean, model.ack_delayed_longest):
        assert law(paused(205)).number == pytest.approx(0.0405)
        assert law(paused(215)).number == 0
        with pytest.raises(ModelError, match="as long as the RTO"):
            law(paused(210))


def test_quick_acks_are_sixteen_or_half_the_window() -> None:
    assert model.quick_acks(path()) == Value(16, "1")


@pytest.mark.parametrize(
    ("number", "sysctls", "acks"),
    [
        (71, {}, 5),  # 3, 1 for 45, 1 for the last 21
        (137, {}, 3),
        (136, {}, 4),
        (71, {"tcp_comp_sack_nr": 0}, 69),
        (71, {"tcp_sack": 0}, 69),
        (71, {"tcp_comp_sack_nr": 10}, 3 + 6),
    ],
)
def test_acks_behind_a_hole(number: int, sysctls: Mapping[str, int], acks: int) -> None:
    assert model.acks_after_hole(losing(number, sysctls)) == Value(acks / (140 - number), "1")


def test_the_timer_ends_the_waiting_where_segments_come_slowly() -> None:
    slow = replace(losing(71), forward=path(rate="10 Mbit/s", delay="10 ms").forward)
    assert model.acks_after_hole(slow) == Value((3 + 66) / 69, "1")  # 1 ms is less than a frame


@pytest.mark.parametrize("wrong", [losing(140), losing(1, segments=1), path()])
def test_what_the_model_of_a_hole_does_not_cover(wrong: Scenario) -> None:
    with pytest.raises(ModelError):
        model.acks_after_hole(wrong)
