"""When ACKs go: the rules by themselves, and the closed forms against them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import model
from lab.guest.workload import RequestResponse
from lab.model import KernelTraits, Scenario
from lab.model.delayed_ack import NEVER, DelayedAck, Timers
from lab.model.packet import Ack, Segment
from lab.model.receiver import Receiver
from lab.units import Duration
from tests.examples import examples
from tests.model.scenarios import hop, host, scenario

MS, SECOND = 10**6, 10**9
TICKS = st.sampled_from([100, 250, 1000])  # a second


def path(delay: str = "0 s", mtu: int = 1500, hz: int = 1000, **changed: Any) -> Scenario:
    return scenario(hop(delay=delay, mtu=mtu), kernel=KernelTraits(hz=hz), **changed)


def unread(delay: str = "0 s", hz: int = 1000) -> Scenario:
    """A reader that sleeps for long."""
    return path(delay, hz=hz, reader=RequestResponse(asleep=Duration.of("9 s")).reader())


def settled(hz: int, rtt: int = 0) -> DelayedAck:
    """Of a connection whose quick ACKs are spent."""
    return DelayedAck(Timers(hz), advmss=1448, rcv_mss=536, rtt=rtt, ato=hz // 25)


def delay(ack: DelayedAck, now: int) -> int:
    """How long the ACK of one byte that comes then waits for its timer, which fires."""
    ack.measure_rcv_mss(1, psh=True)
    ack.event_data_recv(now, rcv_wnd=65536)
    ack.delay(now)
    waited = ack.due - now
    ack.expire()
    ack.event_ack_sent()
    return waited


@given(TICKS, st.integers(SECOND, 10 * SECOND))
def test_an_ack_waits_for_a_25th_of_a_second_and_the_next_tick(hz: int, now: int) -> None:
    assert SECOND // 25 < delay(settled(hz), now) <= SECOND // 25 + SECOND // hz


@pytest.mark.parametrize("hz", [100, 250, 1000])
def test_the_closed_form_of_the_mean_delay_is_that_over_all_phases_of_a_tick(hz: int) -> None:
    phases = [SECOND + phase * SECOND // hz // 1000 for phase in range(1000)]
    mean = sum(delay(settled(hz), now) for now in phases) / len(phases) / SECOND
    predicted = model.ack_delayed_mean(unread(hz=hz))
    assert mean == pytest.approx(predicted.number, abs=0.001 / hz)


@examples(50)
@given(TICKS, st.integers(1, 300))
def test_the_closed_form_of_the_longest_delay_bounds_it_to_half_a_tick(hz: int, rtt_ms: int) -> None:
    far = unread(f"{rtt_ms} ms", hz)
    rtt = int(model.base_rtt(replace(far, reverse=path().reverse)).number * SECOND)
    ack = settled(hz, rtt)
    seen = [delay(ack, SECOND * number + number * SECOND // hz // 97) for number in range(1, 970)]
    predicted = model.ack_delayed_longest(replace(far, reverse=path().reverse)).number
    assert max(seen) / SECOND == pytest.approx(predicted, abs=1.6 / hz)  # the RTT is rounded up to a tick, too


@given(st.integers(600, 9000), st.integers(1, 1 << 20))
def test_the_closed_form_of_quick_acks_counts_those_of_full_segments(mtu: int, rmem: int) -> None:
    asked = path(mtu=mtu, receiver=host(tcp_rmem=f"4096 {rmem + 30_000} 6291456"))
    predicted, receiver = model.quick_acks(asked), Receiver(asked, lambda _now, _ack: None)
    ack, sent = receiver.icsk_ack, 0
    ack.measure_rcv_mss(ack.advmss, psh=False)
    ack.event_data_recv(SECOND, receiver.rcv_wnd)
    while ack.quickack_mode:
        sent += 1
        ack.scheduled = True
        ack.event_ack_sent()
    assert sent == max(predicted.number, 2 if not predicted.number else 0)


@examples(30)
@given(st.integers(700, 9000), st.lists(st.integers(1, 20 * MS), min_size=40, max_size=40))
def test_every_second_segment_is_acknowledged_however_they_come(mtu: int, gaps: list[int]) -> None:
    asked = path(mtu=mtu, rcvbuf=131072)  # a buffer that does not grow
    full, seen, now = model.largest_payload(asked).number, list[Ack](), SECOND
    receiver = Receiver(asked, lambda _now, ack: seen.append(ack))
    for gap in [MS] * 200 + gaps:  # the window has grown by then
        now += gap
        receiver.receive(now, Segment(int(full), 1, psh=False, tsecr=0))
        receiver.read(now)
    steady = [ack.ack_seq for ack in seen[-10:]]
    parts = {(after - before) / full for before, after in pairwise(steady)}
    assert parts == {model.segments_per_ack(asked).number}


@given(st.integers(0, 39))
def test_an_answer_within_40_ms_carries_the_ack_as_the_closed_form_says(think: int) -> None:
    asked = path(reader=RequestResponse(think=Duration.of(f"{think} ms")).reader())
    ack, now = settled(1000), SECOND
    for _ in range(3):  # the first answer begins it
        ack.measure_rcv_mss(1, psh=True)
        ack.event_data_recv(now, rcv_wnd=65536)
        ack.delay(now)
        at_once = ack.must_follow_read(1, emptied=True)
        assert ack.due > now + think * MS
        answered = now + think * MS
        ack.event_ack_sent()
        ack.event_data_sent(answered)
        now += SECOND
    assert not at_once
    assert model.ack_after_answer(asked).number == pytest.approx((answered + SECOND - now) / SECOND)


def test_two_short_segments_end_the_wait_of_a_socket_that_answers() -> None:
    ack = settled(1000)
    ack.pingpong = True
    ack.event_data_recv(SECOND, rcv_wnd=65536)
    ack.measure_rcv_mss(10, psh=True)
    assert not ack.must_follow_read(10, emptied=True)
    ack.measure_rcv_mss(10, psh=True)  # ICSK_ACK_PUSHED2
    assert ack.must_follow_read(20, emptied=True)
    assert not ack.must_follow_read(20, emptied=False)


def test_an_ack_that_is_overdue_ends_the_waiting_for_answers() -> None:
    ack = settled(1000)
    ack.pingpong = True
    delay(ack, SECOND)
    assert not ack.pingpong
    assert ack.due == NEVER


def test_each_ack_that_the_timer_sends_lets_the_next_wait_twice_as_long() -> None:
    ack = settled(1000, rtt=SECOND)
    delays = [delay(ack, second * SECOND) for second in range(1, 6)]
    assert delays == [41 * MS, 88 * MS, 168 * MS, 208 * MS, 208 * MS]  # beyond 63 ticks, to the next of 8


@pytest.mark.parametrize(("later", "at_once"), [(29, False), (30, True)])
def test_an_ack_goes_at_once_where_its_timer_would_fire_within_a_quarter_of_the_ato(later: int, at_once: bool) -> None:
    ack = settled(1000)
    ack.delay(SECOND)  # for 40 ms
    assert ack.delay(SECOND + later * MS) == at_once
