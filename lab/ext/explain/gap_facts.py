"""Compute facts about the gaps between two segments of the sender, in columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lab.ext.explain.exchange import NEVER, SegmentsAndAcks, holes
from lab.ext.explain.limits import DEFERRED, PACED, PACED_NS, REPEATS, SAME_MOMENT_LEAST_NS, TSO_RTT_NS
from lab.ext.explain.view import SenderView
from lab.metric.arrays import Bools, Floats, Ints, np

HANDSHAKE_RECORD, DATA_RECORD = 22, 23  # TLS content types


@dataclass(frozen=True)
class Gaps:
    """Computes facts about the gaps between segments, in the order in which they left. Each gap has one row."""

    found: SegmentsAndAcks
    view: SenderView
    mss: int
    rtt: int
    capacity: float = 0.0  # of the bottleneck, in bytes per second; 0 if unknown

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
        found: Bools = (self.ack_after > self.ack_before) & (since <= self.soon)
        return found

    @cached_property
    def soon(self) -> Ints:
        """Return within what time after an ACK a segment counts as released by it."""
        least = np.full(len(self.end), self.view.slack)
        return np.maximum(reaction(self.view), self.view.sooner[1:]) if self.view.near else least

    @cached_property
    def chance(self) -> Floats:
        """Return how probable it is that an ACK is near the end of each gap by chance."""
        apart = self.length / np.maximum(self.ack_after - self.ack_before, 1)
        found: Floats = np.minimum((self.soon + self.guard) / np.maximum(apart, 1), 1.0)
        return found

    @property
    def guard(self) -> Ints:
        """Return by how much the end of each gap may be later than it seems, in ns."""
        return self.view.guard[1:]

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
    def fits(self) -> Bools:
        """Return whether the receive window had room for all segments that left together after a gap, from its start.

        With less room, TSO may have waited for more (tcp_tso_should_defer).
        """
        reached = np.maximum.accumulate(self.found.highest[self.view.order])
        starts = np.flatnonzero(np.concatenate(([True], self.length > self.view.slack)))
        last = np.concatenate((starts[1:], [len(reached)])) - 1
        burst = np.searchsorted(starts, np.arange(1, len(reached)), side="right") - 1
        need = reached[last[burst]]
        within = need <= self.found.edge[-1:].max(initial=0)
        found: Bools = within & (_freed(self.found, self.view, need, self.start, self.end) == 0)
        return found

    @cached_property
    def cramped(self) -> Ints:
        """Return for how long the receive window had less room than TSO waits for, from the start of each gap.

        That is a third of the window, and never more than it sends at a time (tcp_tso_should_defer).
        """
        if not len(self.found.edge):
            return np.zeros(len(self.start), np.int64)
        before = np.maximum(self.ack_before, 0)
        window = self.found.edge[before] - self.found.ack[before]
        need = np.maximum.accumulate(self.found.highest[self.view.order])[:-1] + np.minimum(window // 3, DEFERRED)
        at = np.searchsorted(self.found.edge, need, side="left")
        last = len(self.view.arrived) - 1
        free = np.where(at <= last, self.view.arrived[np.minimum(at, last)], self.end)
        room: Ints = np.clip(free - self.start, 0, self.length)
        return room

    @cached_property
    def closed(self) -> Bools:
        """Return whether the receive window was zero within each gap."""
        count = np.concatenate(([0], np.cumsum(self.found.closed)))
        closed: Bools = count[self.ack_after + 1] > count[np.maximum(self.ack_before, 0)]
        return closed

    @cached_property
    def drained(self) -> Bools:
        """Return whether all data was acknowledged at the end of each gap."""
        acked = np.where(self.ack_after >= 0, self.found.ack[np.maximum(self.ack_after, 0)], NEVER // 2)
        found: Bools = (self.ack_after >= 0) & (self.found.highest[self.one] - acked <= 0)
        return found

    @cached_property
    def message(self) -> Ints:
        """Return when the last message of the other end arrived within each gap; NEVER for none."""
        carries, before, after = self.found.carries, self.ack_before, self.ack_after
        if not carries.any():
            return np.full(len(before), NEVER)
        last = np.maximum.accumulate(np.where(carries, np.arange(len(carries)), -1))
        at = np.where(after >= 0, last[np.maximum(after, 0)], -1)
        return np.where(at > before, self.view.arrived[np.maximum(at, 0)], NEVER)

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

    @cached_property
    def waiting(self) -> Bools:
        """Return whether more data surely waited: the last segment before a gap that was in flight has no PSH.

        Linux sets PSH on the last segment of a write, and on the last one before a writer waits for its buffer
        (tcp_push in tcp_sendmsg_locked); RFC 9293 3.9.1.2 asks for it on the last buffered segment.
        """
        end = self.found.highest[self.view.order]
        reached = np.maximum.accumulate(end)
        own = self.found.end[self.view.order]
        at = np.maximum.accumulate(np.where(own == reached, np.arange(len(own)), 0))
        pushed = self.found.pushed[self.view.order][at]
        found: Bools = ~pushed[:-1] & (self.found.seq[self.two] == reached[:-1]) & ~self.drained & ~self.minshall
        return found & bool(self.found.pushed.any())

    @cached_property
    def minshall(self) -> Bools:
        """Return whether a small segment was unacknowledged when a gap began: Nagle's algorithm may hold data back."""
        found: Bools = small_before(self.found, self.view.order, self.mss) > acked_at(self.found, self.ack_before)
        return found

    def silent(self, moment: Ints | int) -> Ints:
        """Return the bytes that ACKs in each gap acknowledged without releasing a segment; 0 with a SACK block there.

        The ACK that released one does not count, nor do ACKs less than `moment` before it.
        """
        found, arrived, first, last = self.found, self.view.arrived, self.ack_before, self.ack_after
        if not len(arrived):
            return np.zeros(len(first), np.int64)
        before = last - 1
        if np.any(moment):
            edge = arrived[np.maximum(last, 0)] - moment
            before = np.minimum(np.searchsorted(arrived, edge, side="left") - 1, before)
        blocks = np.concatenate(([0], np.cumsum(found.sack_right != NEVER)))
        known = np.maximum(first, 0)
        whole = (before > first) & (first >= 0) & (blocks[last + 1] == blocks[known])
        return np.where(whole, found.ack[np.maximum(before, 0)] - found.ack[known], 0)

    @cached_property
    def spaced(self) -> Bools:
        """Return whether a gap is as long as pacing makes it.

        Pacing sends what its rate carries in a millisecond, and more on a short round trip (tcp_tso_autosize).
        """
        sent = _burst(self.length, self.found.end[self.one] - self.found.seq[self.one], self.view.slack)
        more = DEFERRED >> min(self.rtt // TSO_RTT_NS, 63)
        found: Bools = sent - sent * PACED_NS // np.maximum(self.length, 1) <= max(more, PACED * self.mss)
        return found

    @cached_property
    def nagle(self) -> Bools:
        """Return whether a small segment waited for the ACK of the small one before."""
        waited = small_before(self.found, self.view.order, self.mss)
        acked = self.found.ack[np.maximum(self.ack_after, 0)]
        answered = (self.ack_after >= 0) & (acked >= waited) & (acked_at(self.found, self.ack_before) < waited)
        pure = ~self.found.carries[np.maximum(self.ack_after, 0)]
        found: Bools = self.released & pure & (self.size < self.mss) & (answered | self.drained)
        return found

    @cached_property
    def probe(self) -> Bools:
        """Return whether new data probed for a lost tail (RFC 8985 7.3).

        A full segment left two round trips or more after several full ones of which none was acknowledged.
        """
        flight = self.found.highest[self.one] - acked_at(self.found, self.ack_before)
        waited = acked_at(self.found, self.ack_after) == acked_at(self.found, self.ack_before)
        found: Bools = (self.length >= 2 * self.rtt + self.view.slack) & waited & (flight >= PACED * self.mss)
        return found & (self.size >= self.mss) & ~self.ends & ~self.released

    @cached_property
    def tail_lost(self) -> Bools:
        """Return whether a segment came alone after each gap, and those before it are missing, away from the sender.

        They were the lost end of a flight, and the timer has sent the last of them again (RFC 8985 7.3). A program that
        goes on would send several segments. All that was lost has to come again: bytes that never came were lost by the
        capture.
        """
        reached = np.maximum.accumulate(self.found.highest[self.view.order])
        alone = np.append(self.length[1:] >= self.rtt // 2, True)[: len(self.length)]
        found: Bools = (self.found.seq[self.two] > reached[:-1]) & alone & ~self._unseen(reached[:-1])
        return found & (not self.view.exact)

    def _unseen(self, reached: Ints) -> Bools:
        """Return whether bytes between what had been sent before each gap and the segment after it never came."""
        first, end = holes(self.found)
        at = np.searchsorted(end, reached, side="right")
        found: Bools = np.append(first, np.iinfo(np.int64).max)[at] < self.found.seq[self.two]
        return found

    @cached_property
    def shaking(self) -> Bools:
        """Return whether a gap is before the first data of TLS, and follows a record of its handshake."""
        tls = self.found.tls
        found: Bools = (np.maximum.accumulate(tls == DATA_RECORD)[self.one] == 0) & (tls[self.one] == HANDSHAKE_RECORD)
        return found


def acked_at(found: SegmentsAndAcks, ack: Ints) -> Ints:
    """Return the number that each of these ACKs acknowledges; for no ACK, the first segment's."""
    return np.where(ack >= 0, found.ack[np.maximum(ack, 0)], found.seq[0]) if len(found.ack) else ack * 0 + found.seq[0]


def small_before(found: SegmentsAndAcks, order: Ints, mss: int) -> Ints:
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


def reaction(view: SenderView) -> int:
    """Return the longest time in which the sender answers an ACK with a segment, from its usual time, in ns."""
    first = np.concatenate(([True], np.diff(view.left) > SAME_MOMENT_LEAST_NS)) & (view.known >= 0)
    since = (view.left - view.arrived[np.maximum(view.known, 0)])[first] if len(view.arrived) else view.left[:0]
    usual = 4 * float(np.percentile(since, 25)) if len(since) else 0.0
    return int(min(max(usual, SAME_MOMENT_LEAST_NS, int(view.guard.min(initial=0))), view.slack))


def _freed(found: SegmentsAndAcks, view: SenderView, need: Ints, start: Ints, end: Ints) -> Ints:
    """Return how long after `start` the window had room for the next segment."""
    if not len(found.edge):
        return np.zeros(len(start), np.int64)
    at = np.searchsorted(found.edge, need, side="left")
    known = (at > 0) & (at < len(view.arrived))  # the first window was there before the first segment
    free = np.where(known, view.arrived[np.minimum(at, len(view.arrived) - 1)], start)
    return np.where(known & (free > start + view.guard[:-1]), np.clip(free - start, 0, end - start), 0)


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
