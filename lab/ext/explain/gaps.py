"""Explain each gap between two segments of the sender: what kept the second segment from leaving with the first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from lab.ext.explain.exchange import NEVER, SegmentsAndAcks
from lab.ext.explain.limits import (
    ALIKE,
    DEFERRED_NS,
    DELAYED_ACK_NS,
    PACED,
    PACED_NS,
    REPEATS,
    SAME_MOMENT_LEAST_NS,
    TIMEOUT_NS,
    WOKEN,
)
from lab.ext.explain.place import SenderView
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
    gaps = _Gaps(found, view, mss, rtt)
    if not len(gaps.start):
        empty = np.zeros(0, np.int64)
        return Pieces(empty, empty, empty, empty)
    if not len(view.arrived):
        late = gaps.again & (gaps.length >= TIMEOUT_NS)
        return Pieces(gaps.start, gaps.end, np.where(late, Why.TIMER, Why.BURST), gaps.packet)
    return _cut(gaps, _reasons(gaps))


@dataclass(frozen=True)
class _Gaps:
    """Computes facts about the gaps between segments, in the order in which they left. Each gap has one row."""

    found: SegmentsAndAcks
    view: SenderView
    mss: int
    rtt: int

    @cached_property
    def start(self) -> Ints:
        """Return when the segment before each gap left."""
        return self.view.left[:-1]

    @cached_property
    def end(self) -> Ints:
        """Return when the segment after each gap left."""
        return self.view.left[1:]

    @cached_property
    def length(self) -> Ints:
        """Return the gaps' lengths in ns."""
        return self.end - self.start

    @cached_property
    def one(self) -> Ints:
        """Return the rows of the segments before the gaps."""
        return self.view.order[:-1]

    @cached_property
    def two(self) -> Ints:
        """Return the rows of the segments after the gaps."""
        return self.view.order[1:]

    @cached_property
    def packet(self) -> Ints:
        """Return the capture's numbers of the segments after the gaps."""
        return self.found.packet[self.two]

    @cached_property
    def ack_before(self) -> Ints:
        """Return the last ACK that had arrived when a gap began; -1 for none."""
        return self.view.known[:-1]

    @cached_property
    def ack_after(self) -> Ints:
        """Return the last ACK that had arrived when a gap ended; -1 for none."""
        return self.view.known[1:]

    @cached_property
    def size(self) -> Ints:
        """Return the payload of the segments after the gaps."""
        return (self.found.end - self.found.seq)[self.two]

    @cached_property
    def again(self) -> Bools:
        """Return whether the segment after a gap was sent again."""
        return self.found.again[self.two]

    @cached_property
    def released(self) -> Bools:
        """Return whether an ACK that had just arrived ended a gap."""
        since = self.end - self.view.arrived[self.ack_after]
        soon = _reaction(self.view) if self.view.exact else self.view.slack
        found: Bools = (self.ack_after > self.ack_before) & (since <= soon)
        return found

    @cached_property
    def blocked(self) -> Ints:
        """Return for how long the receive window had no room for the next segment, from the start of each gap.

        A segment that is sent again needs no room. But before a probe (RFC 8985 7.3) and before the first repair, new
        data would have left, and so it would during a repair that sends nothing for several ACKs (RFC 6937 sends at
        least one segment for each two that arrived).
        """
        fills = _fills(self.found, self.two, self.ack_after, self.mss)
        need = self.found.seq[self.two] + np.where(fills, self.mss, np.minimum(self.size, self.mss))
        held = self.ack_after - self.ack_before > REPEATS
        probed = self.again & (~self.released | ~self.found.again[self.one] | held)
        need = np.where(probed, np.maximum.accumulate(self.found.highest[self.view.order])[:-1] + self.mss, need)
        freed = _freed(self.found, self.view, need, self.start, self.end)
        beyond = (fills | probed) & (need > self.found.edge[-1:].max(initial=0))  # no ACK made room
        freed = np.where(beyond, self.length, freed)
        return np.where((self.again & ~probed) | (self.turn & ~self.closed), 0, freed)

    @cached_property
    def closed(self) -> Bools:
        """Return whether the receive window was zero within each gap."""
        return _closed(self.found, self.ack_before, self.ack_after)

    @cached_property
    def drained(self) -> Bools:
        """Return whether all data was acknowledged at the end of each gap."""
        acked = np.where(self.ack_after >= 0, self.found.ack[np.maximum(self.ack_after, 0)], NEVER // 2)
        found: Bools = (self.ack_after >= 0) & (self.found.highest[self.one] - acked <= 0)
        return found

    @cached_property
    def message(self) -> Ints:
        """Return when the last message of the other end arrived within each gap; NEVER for none."""
        return _message(self.found, self.view, self.ack_before, self.ack_after)

    @cached_property
    def turn(self) -> Bools:
        """Return whether a message of the other end arrived in a gap, and nothing was left to acknowledge."""
        found: Bools = (self.message > self.start) & (self.message <= self.end) & self.drained
        return found

    @cached_property
    def ends(self) -> Bools:
        """Return whether the segment before a gap ended what was written: with more, it would have been full."""
        found: Bools = ((self.found.end - self.found.seq) % self.mss > 0)[self.one]
        return found

    def silent(self, moment: int) -> Ints:
        """Return the bytes that ACKs in each gap acknowledged without releasing a segment."""
        return _silent(self.found, self.view, self.ack_before, self.ack_after, moment)

    @cached_property
    def spaced(self) -> Bools:
        """Return whether a gap is as long as pacing makes it."""
        sent = _burst(self.length, self.found.end[self.one] - self.found.seq[self.one], self.view.slack)
        found: Bools = (self.length <= PACED_NS) | (sent <= PACED * self.mss)
        return found

    @cached_property
    def nagle(self) -> Bools:
        """Return whether a small segment waited for the ACK of the small one before."""
        waited = _small_before(self.found, self.view.order, self.mss)
        acked = self.found.ack[np.maximum(self.ack_after, 0)]
        answered = (self.ack_after >= 0) & (acked >= waited) & (_acked(self.found, self.ack_before) < waited)
        pure = ~self.found.carries[np.maximum(self.ack_after, 0)]
        found: Bools = self.released & pure & (self.size < self.mss) & (answered | self.drained)
        return found

    @cached_property
    def shaking(self) -> Bools:
        """Return whether a gap is before the first data of TLS, and follows a record of its handshake."""
        tls = self.found.tls
        found: Bools = (np.maximum.accumulate(tls == DATA_RECORD)[self.one] == 0) & (tls[self.one] == HANDSHAKE_RECORD)
        return found


def _reasons(gaps: _Gaps) -> Ints:
    """Return the reason for each gap. A later rule overrides an earlier one."""
    why = np.full(len(gaps.length), Why.SPACED, np.int64)
    why[gaps.ends | gaps.drained | ~gaps.spaced] = Why.IDLE
    why[gaps.released] = Why.CLOCKED
    _released_by_the_program(gaps, why)
    why[gaps.nagle] = Why.NAGLE
    why[gaps.turn] = Why.TURN
    why[gaps.again] = Why.REPAIR
    late = gaps.length >= np.maximum(TIMEOUT_NS, gaps.rtt)
    why[gaps.again & late & ~gaps.released] = Why.TIMER
    why[gaps.shaking & gaps.turn] = Why.SHAKE
    why[gaps.closed & gaps.released] = Why.CLOSED
    why[gaps.length <= gaps.view.slack] = Why.BURST
    return why


def _released_by_the_program(gaps: _Gaps, why: Ints) -> None:
    """Mark the gaps that an ACK ended only because it woke the program, or by coincidence.

    Earlier ACKs of the gap released nothing, so the send queue was empty. If all data was acknowledged, the buffer had
    room before, and the program was idle. Away from the sender, an ACK is always near, and proves nothing.
    """
    silent = gaps.silent(0 if gaps.view.exact else gaps.view.slack)
    flight = gaps.found.highest[gaps.one] - _acked(gaps.found, gaps.ack_before)
    woken = (silent > WOKEN * flight) | _undeferred(gaps, silent)
    emptied = gaps.ends & (gaps.silent(gaps.view.slack) > 0)
    idle = gaps.drained & ((silent > 0) | gaps.ends)
    if not gaps.view.exact:
        idle, emptied = idle | emptied, np.zeros(len(why), bool)
    why[gaps.released & idle] = Why.IDLE
    empty = woken | (emptied & (gaps.blocked == 0))
    why[gaps.released & empty & ~(gaps.drained & (silent > 0))] = Why.EMPTY


def _undeferred(gaps: _Gaps, silent: Ints) -> Bools:
    """Return which gaps ended at the flight at which a full send buffer wakes the writer: two thirds of the buffer.

    The gap is longer than a sender with data would wait to send more at a time (tcp_tso_should_defer). Another such gap
    ends at the same flight, and between both, the writer filled the buffer: half of that flight, or more.
    """
    highest = gaps.found.highest[gaps.one]
    left = highest - _acked(gaps.found, gaps.ack_after)
    longer = (silent > PACED * gaps.mss) & (gaps.length > max(DEFERRED_NS, 2 * gaps.view.slack))
    rows = np.flatnonzero(gaps.released & longer & (gaps.blocked == 0) & ~gaps.again & ~gaps.drained & (left > 0))
    least = np.minimum(left[rows][1:], left[rows][:-1])
    alike = np.abs(np.diff(left[rows])) <= ALIKE * least + gaps.mss
    alike &= np.diff(highest[rows]) >= (0.5 - ALIKE) * least
    found = np.zeros(len(left), bool)
    if len(rows):
        found[rows] = np.concatenate((alike, [False])) | np.concatenate(([False], alike))
    return found


def _cut(gaps: _Gaps, why: Ints) -> Pieces:
    """Return the pieces. A gap has up to two: the time with a full receive window, or a turn, and the rest.

    After a turn, the program needs time of its own from the message to the next segment.
    """
    kind = np.where(gaps.closed, Why.CLOSED, Why.WINDOW)
    deferred = (gaps.blocked > 0) & (why == Why.CLOCKED)  # tcp_tso_should_defer waits for a larger part of the window
    blocked = np.where(deferred, gaps.length, gaps.blocked)
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
    known = (at > 0) & (at < len(view.arrived))  # the first window was there before the first segment
    free = np.where(known, view.arrived[np.minimum(at, len(view.arrived) - 1)], start)
    return np.where(known, np.clip(free - start, 0, end - start), 0)


def _fills(found: SegmentsAndAcks, two: Ints, ack1: Ints, mss: int) -> Bools:
    """Return whether a small segment fills the window, so that a full one would have left with more room.

    A sender holds such a segment back until there is more room, at most until its persist timer runs out (RFC 9293
    3.8.6.2.1). It does not hold back half of the largest window.
    """
    if not len(found.edge):
        return np.zeros(len(two), bool)
    at = np.maximum(ack1, 0)
    size = found.end[two] - found.seq[two]
    largest = np.maximum.accumulate(found.edge - found.ack)[at]
    fills: Bools = (found.end[two] == found.edge[at]) & (size < mss) & (2 * size < largest) & ~found.again[two]
    return fills & (ack1 >= 0)


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
