"""Explain each gap between two segments of the sender: what kept the second segment from leaving with the first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from lab.ext.explain.exchange import NEVER, SegmentsAndAcks, SenderView
from lab.ext.explain.limits import DELAYED_ACK_NS, PACED, PACED_NS, SAME_MOMENT_LEAST_NS, TIMEOUT_NS, WOKEN
from lab.metric.arrays import Bools, Ints, np

HANDSHAKE_RECORD, DATA_RECORD = 22, 23  # TLS content types


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


@dataclass(frozen=True)
class Pieces:
    """Holds contiguous pieces of time with their reasons.

    `packet` is the capture's number of the segment at the end.
    """

    start: Ints
    end: Ints
    why: Ints
    packet: Ints


def pieces(found: SegmentsAndAcks, view: SenderView, mss: int, rtt: int) -> Pieces:
    """Return why the sender did not send, between each two segments. Time in ns."""
    order = view.order
    start, end = view.left[:-1], view.left[1:]
    one, two = order[:-1], order[1:]
    if not len(one):
        empty = np.zeros(0, np.int64)
        return Pieces(empty, empty, empty, empty)
    if not len(view.arrived):
        return Pieces(start, end, np.full(len(one), Why.BURST), found.packet[two])
    gap = end - start
    ack0, ack1 = view.known[:-1], view.known[1:]
    released = (ack1 > ack0) & (end - view.arrived[ack1] <= (_reaction(view) if view.exact else view.slack))
    size = (found.end - found.seq)[two]
    need = found.seq[two] + np.minimum(size, mss)
    again = found.again[two]

    blocked = _freed(found, view, need, start, end)
    blocked = np.where(again, 0, blocked)

    outstanding = found.highest[one] - np.where(ack1 >= 0, found.ack[np.maximum(ack1, 0)], NEVER // 2)
    drained = (ack1 >= 0) & (outstanding <= 0)
    message = _message(found, view, ack0, ack1)
    turn = (message > start) & (message <= end) & drained
    pure = ~found.carries[np.maximum(ack1, 0)]
    short = (found.end - found.seq) % mss > 0  # the end of what was written: with more, the segment would be full
    ends = short[one]

    why = np.full(len(gap), Why.SPACED, np.int64)
    spaced = (gap <= PACED_NS) | (_burst(gap, found.end[one] - found.seq[one], view.slack) <= PACED * mss)
    why[ends | drained | ~spaced] = Why.IDLE
    why[released] = Why.CLOCKED
    flight = found.highest[one] - _acked(found, ack0)
    silent = _silent(found, view, ack0, ack1, 0 if view.exact else view.slack)
    woken = silent > WOKEN * flight
    emptied = ends & (_silent(found, view, ack0, ack1, view.slack) > 0)
    why[released & drained & ((silent > 0) | ends)] = Why.IDLE  # the buffer had room before, and the queue was empty
    if not view.exact:  # an ACK is always near: it proves nothing
        why[released & emptied] = Why.IDLE
        emptied = np.zeros(len(gap), bool)
    emptied &= blocked == 0
    why[released & (woken | emptied) & ~(drained & (silent > 0))] = Why.EMPTY
    waited = _small_before(found, order, mss)
    answered = (ack1 >= 0) & (found.ack[np.maximum(ack1, 0)] >= waited) & (_acked(found, ack0) < waited)
    why[released & pure & (size < mss) & (answered | drained)] = Why.NAGLE
    why[turn] = Why.TURN
    why[again] = Why.REPAIR
    late = gap >= np.maximum(TIMEOUT_NS, rtt)
    why[again & late & ~released] = Why.TIMER
    shaking = (np.maximum.accumulate(found.tls == DATA_RECORD)[one] == 0) & (found.tls[one] == HANDSHAKE_RECORD)
    why[shaking & turn] = Why.SHAKE
    closed = _closed(found, ack0, ack1)
    why[closed & released] = Why.CLOSED
    why[gap <= view.slack] = Why.BURST

    kind = np.where(closed, Why.CLOSED, Why.WINDOW)
    thought = np.where((why == Why.TURN) & (blocked == 0), np.maximum(end - np.maximum(message, start), 0), 0)
    thought = np.where(thought > view.slack, thought, 0)  # from the message to the next segment: the program's own time

    deferred = (blocked > 0) & (why == Why.CLOCKED)  # tcp_tso_should_defer waits for a larger part of the window
    blocked = np.where(deferred, gap, blocked)
    rest = gap - blocked

    # Each gap has up to two pieces: the blocked time, or the turn, and what follows.
    first = np.where(blocked > 0, blocked, gap - thought)
    cuts = np.stack([start, start + first], 1).ravel()
    ends = np.stack([start + first, end], 1).ravel()
    second = np.where(blocked > 0, np.where(rest > view.slack, why, kind), np.where(thought > 0, Why.IDLE, why))
    whys = np.stack([np.where(blocked > 0, kind, why), second], 1).ravel()
    packets = np.repeat(found.packet[two], 2)
    real = ends > cuts
    return Pieces(cuts[real], ends[real], whys[real], packets[real])


def nagle_waits(found: Pieces) -> int:
    """Return how many gaps with Nagle's algorithm waited for a delayed ACK."""
    return int(((found.why == Why.NAGLE) & (found.end - found.start >= DELAYED_ACK_NS)).sum())


def _acked(found: SegmentsAndAcks, ack: Ints) -> Ints:
    """Return the number that each of these ACKs acknowledges; for no ACK, the first segment's."""
    return np.where(ack >= 0, found.ack[np.maximum(ack, 0)], found.seq[0]) if len(found.ack) else ack * 0 + found.seq[0]


def _small_before(found: SegmentsAndAcks, order: Ints, mss: int) -> Ints:
    """Return the end of the last small segment before each segment but the first, in the order of leaving.

    Linux holds a small segment only while an earlier small segment is unacknowledged (tcp_minshall_check).
    """
    small = ((found.end - found.seq) % mss > 0)[order]
    ends: Ints = np.maximum.accumulate(np.where(small, found.end[order], NEVER))
    return ends[:-1]


def _burst(gap: Ints, size: Ints, slack: int) -> Ints:
    """Return how many bytes left together before each gap."""
    sent = np.cumsum(size)
    first = np.concatenate(([True], gap[:-1] > slack))
    before = np.maximum.accumulate(np.where(first, sent - size, 0))
    return sent - before


def _reaction(view: SenderView) -> int:
    """Return the longest time in which the sender answers an ACK with a segment, from its usual time, in ns."""
    first = np.concatenate(([True], np.diff(view.left) > SAME_MOMENT_LEAST_NS)) & (view.known >= 0)
    since = (view.left - view.arrived[np.maximum(view.known, 0)])[first] if len(view.arrived) else view.left[:0]
    usual = 4 * float(np.percentile(since, 25)) if len(since) else 0.0
    return int(min(max(usual, SAME_MOMENT_LEAST_NS), view.slack))


def _freed(found: SegmentsAndAcks, view: SenderView, need: Ints, start: Ints, end: Ints) -> Ints:
    """Return how long after `start` the window had room for the next segment."""
    if not len(found.edge):
        return np.zeros(len(start), np.int64)
    at = np.searchsorted(found.edge, need, side="left")
    known = at < len(view.arrived)
    free = np.where(known, view.arrived[np.minimum(at, len(view.arrived) - 1)], start)
    return np.where(known, np.clip(free - start, 0, end - start), 0)


def _message(found: SegmentsAndAcks, view: SenderView, ack0: Ints, ack1: Ints) -> Ints:
    """Return when the last message of the other end arrived within each gap; NEVER for none."""
    if not found.carries.any():
        return np.full(len(ack0), NEVER)
    last = np.maximum.accumulate(np.where(found.carries, np.arange(len(found.carries)), -1))
    at = np.where(ack1 >= 0, last[np.maximum(ack1, 0)], -1)
    return np.where(at > ack0, view.arrived[np.maximum(at, 0)], NEVER)


def _silent(found: SegmentsAndAcks, view: SenderView, ack0: Ints, ack1: Ints, moment: int) -> Ints:
    """Return the bytes that ACKs in each gap acknowledged without releasing a segment; 0 with a SACK block among them.

    The ACK that released one does not count, nor do ACKs less than `moment` before it.
    """
    if not len(view.arrived):
        return np.zeros(len(ack0), np.int64)
    before = ack1 - 1
    if moment:
        edge = view.arrived[np.maximum(ack1, 0)] - moment
        before = np.minimum(np.searchsorted(view.arrived, edge, side="left") - 1, before)
    blocks = np.concatenate(([0], np.cumsum(found.sack_right != NEVER)))
    first = np.maximum(ack0, 0)
    whole = (before > ack0) & (ack0 >= 0) & (blocks[ack1 + 1] == blocks[first])
    return np.where(whole, found.ack[np.maximum(before, 0)] - found.ack[first], 0)


def _closed(found: SegmentsAndAcks, ack0: Ints, ack1: Ints) -> Bools:
    """Return whether the window was zero within each gap."""
    count = np.concatenate(([0], np.cumsum(found.closed)))
    closed: Bools = count[ack1 + 1] > count[np.maximum(ack0, 0)]
    return closed
