"""At the receiver, segments that did not wait show when they left, and PSH shows that more data was there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lab.ext.explain.explaining import Explanation, look_closely
from lab.ext.explain.gap_facts import Gaps
from lab.ext.explain.limits import Limit
from tests.ext.explain.captures import ACK, MSS, PSH, Packet, explained, handshake, written

RATE = 0.5  # ms that the bottleneck needs for a full frame of 1,538 bytes
ALONE = RATE * MSS / (MSS + 90)  # more than for a packet without payload


def _most(found: Explanation) -> Limit:
    return max(found.shares, key=lambda each: found.shares[each])


def _received(
    leaves: Sequence[tuple[float, int]],
    rtt: float,
    edge: Callable[[int], int] | None = None,
    stamps: bool = True,
    frame: float = RATE,
) -> list[Packet]:
    """Return a capture at the receiver of segments that leave at these times (ms), with these sizes.

    Each takes its time at the bottleneck, and is acknowledged at once. Times are those of the capture's clock, as if
    the way to the receiver took no time for a packet without payload. `edge` gives the right edge of the window after
    each segment; it is far away by default. A full frame takes `frame` at the bottleneck.
    """
    packets, free, seq = handshake(rtt, scale=0 if edge else 7, at="receiver"), 0.0, 1
    for number, (left, size) in enumerate(leaves):
        window = edge(number) - seq - size if edge else 4000
        free = max(free, left - frame * 90 / (MSS + 90)) + frame * (size + 90) / (MSS + 90)
        value = (1000 + int(left), 1) if stamps else None
        packets.append(Packet(free, seq=seq, size=size, stamps=value))
        seq += size
        back = (500 + int(free), 1000 + int(left)) if stamps else None
        packets.append(Packet(free + 0.001, back=True, ack=seq, window=window, stamps=back))
    return packets


def test_a_segment_that_did_not_wait_shows_when_it_left(tmp_path: Path) -> None:
    """Pairs leave every 3.7 ms. The first of each pair finds the bottleneck idle, and leaves in any part of a tick."""
    times = [61 + 3.7 * pair for pair in range(60)]
    found = look_closely(written(tmp_path, _received([(at, MSS) for at in times for _ in range(2)], 60)))
    left = [(ns - 1_700_000_000 * 10**9) / 1e6 for ns in found.view.left.tolist()]
    assert left[::2] == pytest.approx(times, abs=0.02)
    assert left[1::2] == pytest.approx(times, abs=0.02)  # the second left with the first, in the same tick


@pytest.mark.parametrize("idle", [20, 0])
def test_a_segment_that_waited_left_in_its_tick(tmp_path: Path, idle: int) -> None:
    """Two segments leave every 0.95 ms, and need 1 ms: the queue grows, and hides all but the tick of each.

    Pairs that found the bottleneck idle show when ticks begin. Without them, departures are known to a tick.
    """
    times = [61.7 + 3.7 * pair for pair in range(idle)] + [200.7 + 0.95 * pair for pair in range(200)]
    found = look_closely(written(tmp_path, _received([(at, MSS) for at in times for _ in range(2)], 60)))
    left = [(ns - 1_700_000_000 * 10**9) / 1e6 for ns in found.view.left.tolist()][::2]
    sooner, later = ((bound / 1e6).tolist()[::2] for bound in (found.view.sooner, found.view.guard))
    assert all(at - one <= true <= at + other
               for true, at, one, other in zip(times, left, sooner, later, strict=True))  # fmt: skip
    if idle:  # in the mean, in the middle of the tick
        assert sum(left[idle:]) / 200 == pytest.approx(sum(times[idle:]) / 200, abs=0.25)
        assert max(later) < 0.7
    else:
        assert max(later) < 1.2


@pytest.mark.parametrize("stamps", [True, False])
@pytest.mark.parametrize("late", [0, 0.04])
def test_a_pacer_behind_a_full_window_is_told_from_the_window_at_the_receiver(
    tmp_path: Path, stamps: bool, late: float
) -> None:
    """In each round trip of 40 ms, one ACK opens the window for 20 segments, and the timer spreads them over 27 ms.

    Each further pair leaves just when the ACK of an earlier one arrives, as that one left a round trip before. But the
    window had room for it. The ACK may come a moment too late, as times are known to 0.05 ms.
    """
    leaves = [(41 + 40 * turn + 3 * pair, MSS) for turn in range(50) for pair in range(10) for _ in range(2)]
    rtt = 40 - ALONE - RATE - 0.002 + late  # from the ACK of a pair's second segment to the next pair
    packets = _received(leaves, rtt, lambda number: 1 + 20 * MSS * ((number - 1) // 20 + 2), stamps)
    shares = explained(tmp_path, packets).shares
    assert shares[Limit.PACING] > 0.5  # 27 of 40 ms, in rounds of 10 ms
    assert 0.2 < shares.get(Limit.WINDOW, 0.0) < 0.45


def test_an_ack_that_seems_a_moment_late_had_made_room(tmp_path: Path) -> None:
    """A pair leaves every 4 ms, just when the ACK of the tenth pair before arrives, and fills the window.

    If that ACK seems to arrive 0.04 ms later, it seems to have made room for the next pair.
    """
    leaves = [(41 + 4 * pair, MSS) for pair in range(400) for _ in range(2)]
    packets = _received(leaves, 40 - ALONE - RATE + 0.04, lambda number: 1 + (number + 1 + 21) * MSS)
    found = look_closely(written(tmp_path, packets))
    assert found.explanation.facts is not None
    gaps = Gaps(found.found, found.view, MSS, found.explanation.facts.where.rtt or 0)
    assert not gaps.blocked[100:].any()


@pytest.mark.parametrize(("flags", "limit"), [(ACK, Limit.PACING), (ACK | PSH, Limit.IDLE)])
def test_a_gap_after_a_segment_without_psh_is_not_the_programs(tmp_path: Path, flags: int, limit: Limit) -> None:
    """Six segments leave with the third of three ACKs, ten times in a round trip, and the flight does not grow.

    Linux sets PSH at the end of a write.
    """
    packets, end = handshake(40, scale=7), 1
    for turn in range(200):
        at = 41 + 4 * turn
        for number in range(6):
            last = flags if number == 5 else ACK
            packets.append(Packet(at + 0.001 * number, seq=end, size=MSS, flags=last))
            end += MSS
        for number in range(3):
            ack = end - (4 - 2 * number) * MSS
            packets.append(Packet(at + 39.59 + 0.2 * number, back=True, ack=ack, window=4000))
    packets.append(Packet(41 + 4 * 200, seq=end, size=100, flags=ACK | PSH))
    assert _most(explained(tmp_path, packets)) is limit


def test_without_psh_a_tail_may_wait_for_nagles_algorithm(tmp_path: Path) -> None:
    """Every 11 ms, the program writes 3.5 segments. A small segment is unacknowledged, so the half one waits."""
    packets, end, at = handshake(40, scale=7), 1, 41.0
    for _ in range(200):
        sizes = [MSS, MSS, MSS, MSS // 2] if end % 2 else [MSS, MSS, MSS, MSS]
        for number, size in enumerate(sizes):
            packets.append(Packet(at + 0.001 * number, seq=end, size=size))
            end += size
        packets.append(Packet(at + 44, back=True, ack=end, window=4000))
        at += 11
    packets.append(Packet(at, seq=end, size=100, flags=ACK | PSH))
    assert _most(explained(tmp_path, packets)) is Limit.IDLE


@pytest.mark.parametrize(("least", "limit"), [(2.3, Limit.PACING), (20.0, Limit.IDLE)])
def test_a_short_round_trip_lets_a_pacer_send_more_at_a_time(tmp_path: Path, least: float, limit: Limit) -> None:
    """Three segments leave every 3.9 ms. Below a round trip of 2.5 ms, the kernel adds 4 KiB (tcp_tso_autosize)."""
    packets, end = handshake(least, scale=7), 1
    for turn in range(300):
        at = 41 + 3.9 * turn
        packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(3)]
        end += 3 * MSS
        packets.append(Packet(at + least + 6.5, back=True, ack=end, window=4000))
    shares = explained(tmp_path, packets).shares
    assert shares.get(limit, 0.0) + (shares.get(Limit.RATE, 0.0) if limit is Limit.PACING else 0.0) > 0.8


def test_without_timestamps_a_write_that_passes_the_bottleneck_is_no_pacing(tmp_path: Path) -> None:
    """A program writes ten segments every 160 ms. They leave together, and the bottleneck spreads them over 46 ms."""
    leaves = [(61 + 160 * turn, MSS if number < 9 else 900) for turn in range(60) for number in range(10)]
    packets = _received(leaves, 60, stamps=False, frame=4.6)
    packets = [replace(each, flags=ACK | PSH) if each.size == 900 else each for each in packets]
    assert explained(tmp_path, packets).shares[Limit.IDLE] > 0.9


@pytest.mark.parametrize(("write", "limit"), [(10, Limit.SEND_BUFFER), (2000, Limit.RATE)])
def test_ends_of_writes_do_not_hide_that_the_rate_is_used_in_full(tmp_path: Path, write: int, limit: Limit) -> None:
    """Without timestamps, segments pass without a pause, and some are small.

    With more data behind them, the kernel would have filled them (tcp_sendmsg_locked). One alone shows a moment only.
    """
    leaves = [(61 + 0.1 * number, 900 if number % write == write - 1 else MSS) for number in range(3000)]
    assert explained(tmp_path, _received(leaves, 60, stamps=False)).shares[limit] > 0.85


def _woken(bursts: Sequence[int], left: Sequence[int], rtt: float, frame: float = RATE) -> list[tuple[float, int]]:
    """Return when segments leave whose writer is woken when `left` are unacknowledged, in turn, and writes so many."""
    leaves: list[tuple[float, int]] = []
    at, free = rtt + 1, 0.0
    arrivals: list[float] = []
    for turn, burst in enumerate(bursts):
        for _ in range(burst):
            leaves.append((at, MSS))
            free = max(free, at) + frame
            arrivals.append(free)
        at = arrivals[-1 - left[turn % len(left)]] + rtt
    return leaves


def test_a_full_buffer_that_grows_is_found_behind_a_queue(tmp_path: Path) -> None:
    """Linux lets the buffer grow with the congestion window (tcp_sndbuf_expand), so that the flight grows, too."""
    packets = _received(_woken([30, 40, 54, 72, 96, 128, 170, 228, 304], [12], 40), 40)
    assert explained(tmp_path, packets).shares[Limit.SEND_BUFFER] > 0.6


def test_a_full_buffer_is_found_although_ticks_hide_when_segments_left(tmp_path: Path) -> None:
    """A queue always stands, so that nothing shows when ticks begin. A third of the buffer is 12 segments."""
    packets = _received(_woken([36] + [12] * 100, [23], 4.9, 1.63), 4.9, frame=1.63)
    assert explained(tmp_path, packets).shares[Limit.SEND_BUFFER] > 0.6


def test_a_gap_within_a_write_shows_that_the_buffer_ends_the_others_too(tmp_path: Path) -> None:
    """Every other burst ends with a write, when more is unacknowledged. But the gap in the middle of a write is as long
    as those, so the program is fast enough.
    """
    leaves = _woken([40] + [90, 60] * 15, [20, 12], 40)
    ends = {39 + 150 * turn for turn in range(16)}
    leaves = [(at, 900 if number in ends else MSS) for number, (at, _) in enumerate(leaves)]
    assert explained(tmp_path, _received(leaves, 40)).shares[Limit.SEND_BUFFER] > 0.9


def test_pairs_that_leave_just_as_acks_arrive_may_be_paced(tmp_path: Path) -> None:
    """Ten pairs leave within 18 ms, in a round trip of 40 ms, each as the ACK of another pair comes.

    The flight does not grow. A program that is slow would write more at a time.
    """
    packets, end = handshake(40, scale=7), 1
    for turn in range(50):
        for pair in range(10):
            at = 41 + 40 * turn + 2 * pair
            packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(2)]
            end += 2 * MSS
            packets.append(Packet(at + 39.999, back=True, ack=end, window=4000))
    assert explained(tmp_path, packets).shares[Limit.PACING] > 0.8


def test_acks_that_leave_together_wait_for_each_other(tmp_path: Path) -> None:
    """Four ACKs leave at once. On a link as fast as the bottleneck's, the last one arrives 0.09 ms after the first."""
    leaves = [(61 + 4 * turn, MSS) for turn in range(60) for _ in range(4)]
    packets = _received(leaves, 60)
    for number in range(240):
        packets[3 + 2 * number + 1] = replace(packets[3 + 2 * number + 1], ms=61.0 + 4 * (number // 4) + 4 * RATE)
    arrived = look_closely(written(tmp_path, packets)).view.arrived
    assert arrived[-1] - arrived[-4] == pytest.approx(3 * RATE * 90 / (MSS + 90) * 1e6, rel=0.05)


@pytest.mark.parametrize(("lost", "limit"), [(5, Limit.TIMEOUT), (0, Limit.IDLE)])
def test_a_pause_before_a_lone_segment_behind_a_hole_is_the_timers(tmp_path: Path, lost: int, limit: Limit) -> None:
    """After a flight whose end was lost, the timer sends its last segment again, a second later, and nothing else."""
    packets, seq, at = handshake(40, scale=7, at="receiver"), 1, 41.0
    for turn in range(6):
        for number in range(10):
            stamps = 1000 + int(at), 1
            packets.append(Packet(at + 0.5 * number, seq=seq, size=MSS, stamps=stamps))
            seq += MSS
            packets.append(Packet(at + 0.5 * number, back=True, ack=seq, window=4000, stamps=(500, stamps[0])))
        hole = lost * MSS if turn < 5 else 0
        packets.append(Packet(at + 1000, seq=seq + hole, size=MSS, stamps=(2000 + int(at), 1)))
        packets.append(Packet(at + 1000, back=True, ack=seq + (0 if hole else MSS), window=4000, stamps=(500, 1)))
        if hole:
            packets.append(Packet(at + 1040, seq=seq, size=hole, stamps=(2040 + int(at), 1)))
            packets.append(Packet(at + 1040, back=True, ack=seq + hole + MSS, window=4000, stamps=(500, 1)))
        seq += hole + MSS
        at += 1080
    assert explained(tmp_path, packets).shares[limit] > 0.7


def test_a_pause_of_the_capture_is_not_the_timers(tmp_path: Path) -> None:
    """The capture misses everything for 0.75 s, again and again. None of these segments comes again."""
    packets, seq, at = handshake(40, scale=7, at="receiver"), 1, 41.0
    for number in range(240):
        stamps = 1000 + int(at), 1
        if number % 40 < 10:
            packets.append(Packet(at, seq=seq, size=MSS, stamps=stamps))
            packets.append(Packet(at, back=True, ack=seq + MSS, window=4000, stamps=(500, stamps[0])))
        seq, at = seq + MSS, at + 25
    assert Limit.TIMEOUT not in explained(tmp_path, packets).shares


def test_a_segment_that_waits_in_a_queue_until_the_capture_ends_does_not_wait_for_the_timer(tmp_path: Path) -> None:
    """A queue grows by 3 ms with each segment, up to 0.3 s. The capture ends before the last ACK."""
    packets = handshake(40, scale=7, at="receiver")
    for number in range(100):
        at, value, end = 61 + 10 * number, 1000 + 7 * number, 1 + (number + 1) * MSS
        packets.append(Packet(at, seq=end - MSS, size=MSS, stamps=(value, 1)))
        packets.append(Packet(at, back=True, ack=end, window=4000, stamps=(500, value)))
    assert Limit.TIMEOUT not in explained(tmp_path, packets[:-1]).shares
