"""Explain each gap between two segments of the sender: what kept the second segment from leaving with the first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from lab.ext.explain.exchange import SegmentsAndAcks
from lab.ext.explain.gap_facts import HANDSHAKE_RECORD, Gaps, acked_at, reaction, small_before
from lab.ext.explain.limits import (
    ALIKE,
    CHANCE,
    DEFERRED_NS,
    DELAYED_ACK_NS,
    FULL,
    NEARLY_WOKEN,
    PACED,
    TIMEOUT_NS,
    WOKEN,
)
from lab.ext.explain.view import SenderView
from lab.metric.arrays import Bools, Ints, np


class Why(IntEnum):
    """Gives the reason for a gap."""

    BURST = 0  # the segments left together
    WINDOW = 1  # the receive window had no room for the second segment
    CLOSED = 2  # the receive window was zero
    CLOCKED = 3  # the next ACK released the second segment: a window was full
    EMPTY = 4  # earlier ACKs released nothing, a later one did: the send queue was empty
    IDLE = 5  # no ACK released the second segment: it was written then
    TURN = 6  # the program waited for a message
    NAGLE = 7
    SPACED = 8  # no ACK released the second segment, and its predecessor was not the end of a write
    TIMER = 9  # the retransmission timer
    REPAIR = 10  # the second segment was sent again, without the timer
    SHAKE = 11  # TCP's and TLS's opening turns
    AFTER = 12  # after the last segment: its ACK, and the end
    ROOMY = 13  # as CLOCKED, but the receive window had room before that ACK, and pacing makes such gaps
    HELD = 14  # as CLOCKED, but the receive window had room, and more data surely waited: a window of the sender


ACKED = (Why.CLOCKED, Why.ROOMY, Why.HELD)  # an ACK released the second segment


@dataclass(frozen=True)
class Pieces:
    """Holds contiguous pieces of time with their reasons.

    `packet` is the capture's number of the segment at the end.
    """

    start: Ints
    end: Ints
    why: Ints
    packet: Ints


def pieces(found: SegmentsAndAcks, view: SenderView, mss: int, rtt: int, capacity: float = 0.0) -> Pieces:
    """Return why the sender did not send, between each two segments. Time in ns. `capacity` is `Sight.capacity`."""
    gaps = Gaps(found, view, mss, rtt, capacity)
    if not len(gaps.start):
        empty = np.zeros(0, np.int64)
        return Pieces(empty, empty, empty, empty)
    if not len(view.arrived):
        late = gaps.again & (gaps.length >= TIMEOUT_NS)
        return Pieces(gaps.start, gaps.end, np.where(late, Why.TIMER, Why.BURST), gaps.packet)
    return _cut(gaps, _reasons(gaps))


def _reasons(gaps: Gaps) -> Ints:
    """Return the reason for each gap. A later rule overrides an earlier one."""
    why = np.full(len(gaps.length), Why.SPACED, np.int64)
    why[(gaps.ends | gaps.drained | ~gaps.spaced) & ~gaps.waiting] = Why.IDLE
    why[gaps.released] = Why.CLOCKED
    why[gaps.released & gaps.fits & gaps.spaced] = Why.ROOMY
    why[gaps.released & gaps.fits & gaps.waiting] = Why.HELD
    _released_by_the_program(gaps, why)
    why[gaps.nagle] = Why.NAGLE
    why[gaps.turn] = Why.TURN
    why[gaps.again | gaps.probe] = Why.REPAIR
    late = gaps.length >= np.maximum(TIMEOUT_NS, gaps.rtt)
    why[(gaps.again | gaps.tail_lost) & late & ~gaps.released] = Why.TIMER
    why[gaps.shaking & gaps.turn] = Why.SHAKE
    why[gaps.closed & gaps.released] = Why.CLOSED
    why[(gaps.length <= gaps.view.slack) | gaps.view.hidden[1:]] = Why.BURST
    return why


def _released_by_the_program(gaps: Gaps, why: Ints) -> None:
    """Mark the gaps that an ACK ended only because it woke the program, or by coincidence.

    Earlier ACKs of the gap released nothing, so the send queue was empty. If all data was acknowledged, the buffer had
    room before, and the program was idle. Away from the sender, an ACK is always near, and proves nothing.
    """
    silent = gaps.silent(gaps.guard if gaps.view.near else gaps.view.slack)
    flight = gaps.found.highest[gaps.one] - acked_at(gaps.found, gaps.ack_before)
    third = silent > WOKEN * flight
    woken = third | _undeferred(gaps, silent)
    emptied = gaps.ends & (gaps.silent(gaps.view.slack) > 0)
    before = gaps.silent(np.maximum(reaction(gaps.view), gaps.guard)) if gaps.view.near else silent
    idle = gaps.drained & ((before > 0) | gaps.ends)
    if not gaps.view.exact:
        idle, emptied = idle | emptied, np.zeros(len(why), bool)
        woken &= ~_between_writes(gaps, woken, third, silent > NEARLY_WOKEN * flight)
    woken |= _roomy(gaps)
    woken, idle, emptied = (each & ~gaps.waiting for each in (woken, idle, emptied))
    why[gaps.released & idle] = Why.IDLE
    empty = woken | (emptied & (gaps.blocked == 0))  # `_cut` gives the time without room to the window
    why[gaps.released & empty & ~(gaps.drained & (before > 0))] = Why.EMPTY


def _between_writes(gaps: Gaps, woken: Bools, third: Bools, nearly: Bools) -> Bools:
    """Return which of these gaps are near the ends of two writes: among the four cycles from gap to gap around them.

    A writer that waits for its buffer fills a segment first (tcp_sendmsg_locked), so that a smaller one ends a write.
    The program is not slow if the bottleneck is never idle in these cycles. Nor is it if ACKs end all of their gaps, as
    it writes at times of its own, and nearly a third was acknowledged: a program whose period is an ACK's has a shorter
    one. If a `third` of the flight was acknowledged, a gap within a write is the buffer's, and
    so are those next to it that end at the same flight, at which Linux wakes the writer. A gap is within a write if a
    full segment is before it, and Nagle's algorithm held no smaller one back: the last small segment is acknowledged
    (tcp_minshall_check).
    """
    rows = np.flatnonzero(woken & gaps.released)
    found = np.zeros(len(woken), bool)
    if not len(rows):
        return found
    small = np.cumsum((gaps.size % gaps.mss > 0) & ~gaps.again)[rows]
    at = np.arange(len(rows))
    first, last = np.maximum(at - 2, 0), np.minimum(at + 2, len(rows) - 1)
    ended = (small[last] - small[first] >= 2) & ~_busy(gaps, rows[first], rows[last])
    ended &= ~(nearly[rows] & _in_step(gaps, rows[first], rows[last]))
    acked = acked_at(gaps.found, gaps.ack_after)[rows]
    within = third[rows] & ~gaps.ends[rows]
    within &= small_before(gaps.found, gaps.view.order, gaps.mss)[rows] <= acked
    left = gaps.found.highest[gaps.one][rows] - acked
    least = np.minimum(left[1:], left[:-1])
    level = np.concatenate(([0], np.cumsum(np.abs(np.diff(left)) > ALIKE * least + gaps.mss)))
    total = np.concatenate(([0], np.cumsum(within)))
    beside = total[np.minimum(at + 3, len(rows))] > total[np.maximum(at - 2, 0)]
    buffer = third[rows] & (beside | (np.bincount(level, within)[level] > 0))
    found[rows] = ended & ~buffer
    return found


def _busy(gaps: Gaps, first: Ints, last: Ints) -> Bools:
    """Return whether data passed at the bottleneck's rate from the end of each first gap to that of the last one."""
    carried = gaps.found.highest[gaps.two][last] - gaps.found.highest[gaps.two][first]
    took = gaps.found.time[gaps.two][last] - gaps.found.time[gaps.two][first]
    busy: Bools = (carried * 1e9 >= FULL * gaps.capacity * took) & (took > 0) & (gaps.capacity > 0)
    return busy


def _in_step(gaps: Gaps, first: Ints, last: Ints) -> Bools:
    """Return whether ACKs ended all long gaps from each first gap to the last one, which is improbable by chance."""
    longer = (gaps.length > max(DEFERRED_NS, 2 * gaps.view.slack)) & ~gaps.again
    chance = np.concatenate(([0], np.cumsum(np.where(longer, np.log(np.maximum(gaps.chance, CHANCE)), 0))))
    others = np.concatenate(([0], np.cumsum(longer & ~gaps.released)))
    found: Bools = (chance[last + 1] - chance[first] <= np.log(CHANCE)) & (others[last + 1] == others[first])
    return found


def _undeferred(gaps: Gaps, silent: Ints) -> Bools:
    """Return which gaps ended at the flight at which a full send buffer wakes the writer: two thirds of the buffer.

    The gap is longer than a sender with data would wait to send more at a time (tcp_tso_should_defer). Another such gap
    ends at the same flight, and between both, the writer filled the buffer: half of that flight, or more.
    """
    highest = gaps.found.highest[gaps.one]
    left = highest - acked_at(gaps.found, gaps.ack_after)
    longer = (silent > PACED * gaps.mss) & (gaps.length > max(DEFERRED_NS, 2 * gaps.view.slack))
    rows = np.flatnonzero(gaps.released & longer & (gaps.blocked == 0) & ~gaps.again & ~gaps.drained & (left > 0))
    least = np.minimum(left[rows][1:], left[rows][:-1])
    alike = np.abs(np.diff(left[rows])) <= ALIKE * least + gaps.mss
    alike &= np.diff(highest[rows]) >= (0.5 - ALIKE) * least
    found = np.zeros(len(left), bool)
    if len(rows):
        found[rows] = np.concatenate((alike, [False])) | np.concatenate(([False], alike))
    return found


def _roomy(gaps: Gaps) -> Bools:
    """Return which gaps began with a full window, and went on for longer than a sender with data would wait after ACKs
    had made room.

    The congestion window had room, too, as the flight was larger when the receive window was full.
    """
    idle = gaps.length - gaps.cramped > max(DEFERRED_NS, 2 * gaps.view.slack)
    found: Bools = (gaps.blocked > 0) & idle & gaps.released & ~gaps.again & ~gaps.drained
    return found


def _cut(gaps: Gaps, why: Ints) -> Pieces:
    """Return the pieces. A gap has up to two: the time with a full receive window, or a turn, and the rest.

    After a turn, the program needs time of its own from the message to the next segment.
    """
    kind = np.where(gaps.closed, Why.CLOSED, Why.WINDOW)
    deferred = (gaps.blocked > 0) & (why == Why.CLOCKED)  # tcp_tso_should_defer waits for a larger part of the window
    blocked = np.where(deferred, gaps.length, gaps.blocked)
    blocked = np.where((why == Why.EMPTY) & _roomy(gaps), gaps.cramped, blocked)
    answering = (why == Why.TURN) & (gaps.blocked == 0)
    thought = np.where(answering, np.maximum(gaps.end - np.maximum(gaps.message, gaps.start), 0), 0)
    thought = np.where(thought > gaps.view.slack, thought, 0)

    middle = gaps.start + np.where(blocked > 0, blocked, gaps.length - thought)
    rest = gaps.length - blocked
    first = np.where(blocked > 0, kind, why)
    second = np.where(blocked > 0, np.where(rest > gaps.view.slack, why, kind), np.where(thought > 0, Why.IDLE, why))
    starts, ends = (np.stack(pair, 1).ravel() for pair in ((gaps.start, middle), (middle, gaps.end)))
    whys, packets = np.stack([first, second], 1).ravel(), np.repeat(gaps.packet, 2)
    real = ends > starts
    return Pieces(starts[real], ends[real], whys[real], packets[real])


def before_first(found: SegmentsAndAcks, view: SenderView, start: int, opened: bool) -> Pieces:
    """Return why the sender did not send before its first segment, from `start`.

    With `opened`, the connection began then, and the first ACK ends its opening.
    """
    first = int(view.left[0])
    shaken = int(view.arrived[0]) if opened and len(view.arrived) else start
    if found.tls[view.order[0]] == HANDSHAKE_RECORD:
        shaken = first
    early = view.arrived <= first
    messages, closed = view.arrived[found.carries & early], np.flatnonzero(found.closed & early)
    waited = int(messages[-1]) if len(messages) else shaken
    if len(closed):  # in a capture that begins in the middle
        waited = int(view.arrived[closed[-1] + 1]) if closed[-1] + 1 < len(view.arrived) else first
    cuts = np.clip(np.maximum.accumulate(np.array([start, shaken, waited, first])), None, max(first, start))
    whys = np.array([Why.SHAKE, Why.CLOSED if len(closed) else Why.TURN, Why.IDLE], np.int64)
    return Pieces(cuts[:-1], cuts[1:], whys, np.full(3, found.packet[view.order[0]]))


def nagle_waits(found: Pieces) -> int:
    """Return how many gaps with Nagle's algorithm waited for a delayed ACK."""
    return int(((found.why == Why.NAGLE) & (found.end - found.start >= DELAYED_ACK_NS)).sum())
