"""Gather the evidence of a connection in rounds of about a round trip. Memory does not grow with the capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.ext.explain.cuts import full_spans
from lab.ext.explain.exchange import ANY_WINDOW, NEVER, SegmentsAndAcks
from lab.ext.explain.gaps import Pieces, Why
from lab.ext.explain.limits import STANDING, STANDING_LEAST_NS
from lab.ext.explain.place import Place, on_time, selected, to_acks
from lab.ext.explain.units import unclocked
from lab.ext.explain.view import SenderView
from lab.metric.arrays import Bools, Floats, Ints, np

NONE = np.iinfo(np.int64).max
MOMENTS = 16  # of a round, for the mean wait


@dataclass
class Delays:
    """Holds the sum and the number of delays in each round, in ns."""

    total: Floats
    count: Ints

    @classmethod
    def empty(cls, count: int) -> Delays:
        """Return no delays."""
        return cls(np.zeros(count), np.zeros(count, np.int64))

    def add(self, rounds: Ints, delays: Ints) -> None:
        """Add delays to these rounds."""
        np.add.at(self.total, rounds, delays)
        np.add.at(self.count, rounds, 1)

    def mean(self, turn: int) -> Ints:
        """Return the mean of the last `turn` rounds; NONE without a delay."""
        total, count = recent_sum(self.total, turn), recent_sum(self.count, turn)
        return np.where(count > 0, (total / np.maximum(count, 1)).astype(np.int64), NONE)


@dataclass
class Rounds:
    """Holds evidence in rounds of `length` ns from `start`. One row per round."""

    start: int
    length: int
    time: Floats  # ns by reason: rounds x reasons
    flight: Ints  # most bytes in flight when a segment had left
    room: Ints  # least room in the receive window when a segment had left
    window: Ints  # largest window
    acked: Ints  # highest acknowledged number up to the round's end; NEVER before the first
    reached: Ints  # highest number that was acknowledged, also selectively
    sent: Ints  # segments
    again: Ints  # segments that repeat a sequence number
    repeats: Ints  # ACKs that repeat a number, with a SACK block
    arrived: Ints  # bytes that passed the capture
    beyond: Delays  # from a segment at the capture to its ACK
    queued: Delays  # on the way to the capture, above the least
    waits: Delays  # at the bottleneck, of a segment that leaves at any time of the round
    first_packet: Ints  # number in the capture; NONE without a segment
    full_again: Ints  # full-sized segments sent again
    short: Ints  # segments that end what was written
    tails: Ints  # of these, sent once, and not up to a window's edge
    unclocked: Ints  # bytes that passed the capture in larger super-packets than ACKs release
    spurious: Ints  # ACKs that report a segment as arrived twice (D-SACK, RFC 2883)
    cut: Bools  # whether segments that were cut to the window's edge show that it was full
    near: bool = False  # whether times are known to less than ACKs usually are apart (`SenderView.near`)

    @classmethod
    def empty(cls, start: int, length: int, count: int) -> Rounds:
        """Return rounds without evidence."""
        flight, room, window, acked, reached, sent, again, repeats, arrived = np.zeros((9, count), np.int64)
        full, short, tails, unclocked, spurious = np.zeros((5, count), np.int64)
        room[:], acked[:], reached[:] = NONE, NEVER, NEVER
        time = np.zeros((count, len(Why)))
        return cls(
            *(start, length, time, flight, room, window, acked, reached, sent, again, repeats, arrived),
            *(Delays.empty(count), Delays.empty(count), Delays.empty(count), np.full(count, NONE)),
            *(full, short, tails, unclocked, spurious),
            np.zeros(count, bool),
        )

    def __len__(self) -> int:
        return len(self.flight)

    @property
    def edges(self) -> Ints:
        """Return the times of the rounds' bounds."""
        edges: Ints = self.start + self.length * np.arange(len(self) + 1, dtype=np.int64)
        return edges

    def at(self, times: Ints) -> Ints:
        """Return the rounds of these times."""
        found: Ints = np.clip((times - self.start) // self.length, 0, len(self) - 1)
        return found

    def spend(self, pieces: Pieces) -> None:
        """Add pieces of time, which are in order and do not overlap."""
        if not len(pieces.start):
            return
        first, last = self.at(pieces.start), self.at(np.maximum(pieces.end - 1, pieces.start))
        within = first == last
        duration = (pieces.end - pieces.start).astype(float)
        np.add.at(self.time, (first[within], pieces.why[within]), duration[within])
        for start, end, why in zip(*(column[~within].tolist() for column in (pieces.start, pieces.end, pieces.why)),
                                   strict=True):  # fmt: skip
            low, high = self.at(np.array([start, end - 1])).tolist()
            self.time[low, why] += self.start + self.length * (low + 1) - start
            self.time[low + 1 : high, why] += self.length
            self.time[high, why] += end - (self.start + self.length * high)

    def add(self, found: SegmentsAndAcks, view: SenderView, mss: int, delay: int, least: int, capacity: float) -> None:
        """Add the evidence of a batch.

        `delay` moves ACKs from the capture to the sender; `least` is `Place.beyond`; `capacity` is `Sight.capacity`.
        """
        order = view.order
        at = self.at(view.left)
        highest = np.maximum.accumulate(found.highest[order]) if len(order) else order
        known = np.maximum(view.known, 0)
        if len(found.ack) and len(order):
            has = view.known >= 0
            np.maximum.at(self.flight, at[has], (highest - found.ack[known])[has])
            np.minimum.at(self.room, at[has], (found.edge[_surely_known(found, view)] - highest)[has])
            window = (found.edge[known] - found.ack[known])[has]
            np.maximum.at(self.window, at[has], np.where(window < ANY_WINDOW, window, 0))
        np.add.at(self.sent, at, 1)
        again = found.again[order]
        np.add.at(self.again, at, again)
        np.add.at(self.full_again, at, again & ((found.end - found.seq)[order] >= mss))
        small = (found.end - found.seq) % mss > 0
        np.add.at(self.short, at, small[order])
        np.add.at(self.tails, at, (small & ~found.again & ~np.isin(found.end, found.edge))[order])
        np.minimum.at(self.first_packet, at, found.packet[order])
        acks = self.at(view.arrived)
        np.maximum.at(self.acked, acks, found.ack)
        np.maximum.at(self.reached, acks, np.maximum(found.ack, found.sack_right))
        np.add.at(self.repeats, acks, found.repeated & (found.sack_right != NEVER))
        np.add.at(self.spurious, acks, (found.sack_right != NEVER) & (found.sack_right <= found.ack))
        np.add.at(self.arrived, self.at(found.time), found.end - found.seq)
        if not view.exact:
            large = unclocked(found, mss)
            np.add.at(self.unclocked, self.at(found.time[large]), (found.end - found.seq)[large])
            for one, other in zip(*(self.at(each).tolist() for each in full_spans(found, view, mss)), strict=True):
                self.cut[one : other + 1] = True
        times, since = to_acks(found)
        self.beyond.add(self.at(times + delay), since)
        prompt = on_time(found, times, since, least, capacity)
        _, chosen, ago = selected(found)
        left = np.concatenate((times - since, chosen - ago))[np.concatenate((prompt, ago >= 0))]
        waited = np.concatenate((since, ago))[np.concatenate((prompt, ago >= 0))] - least
        size = found.end - found.seq
        self._wait(left, waited, found.time, size, capacity)
        known = (found.queued != NEVER) & ~found.again
        self.queued.add(self.at(found.time[known]), found.queued[known])
        known = found.queued != NEVER
        self._wait(found.time[known] - found.queued[known], found.queued[known], view.left, size[order], capacity)

    def _wait(self, left: Ints, waited: Ints, departures: Ints, size: Ints, capacity: float) -> None:
        """Add the time that a segment would have waited if it had left at any time, from segments that did."""
        waited = waits(left, waited, departures, size, capacity) if len(left) else np.full(len(departures), -1)
        departures, waited = departures[waited >= 0], waited[waited >= 0]
        if not len(departures):
            return
        first, last = self.at(departures[[0, -1]]).tolist()
        step = self.length // MOMENTS
        times = self.start + self.length * first + step * np.arange(MOMENTS * (last + 1 - first)) + step // 2
        at = np.searchsorted(departures, times, side="right") - 1
        still = np.where(at >= 0, np.maximum(departures[at] + waited[at] - times, 0), 0)
        rounds = np.arange(first, last + 1)
        self.waits.total[rounds] += still.reshape(-1, MOMENTS).mean(axis=1)
        self.waits.count[rounds] = 1

    def finish(self) -> None:
        """Fill in what follows from other rounds, after the last batch."""
        self.acked, self.reached = np.maximum.accumulate(self.acked), np.maximum.accumulate(self.reached)
        first = np.argmax(self.waits.count > 0)
        self.waits.count[: first if self.waits.count.any() else 0] = 1  # before the first segment, nothing waited

    def delay(self, where: Place, turn: int) -> Ints:
        """Return the mean round trip in the last `turn` rounds, in ns; NONE where no segment shows it."""
        one, other = self.beyond.mean(turn), self.queued.mean(turn)
        if where.name == "sender":
            return np.where(one == NONE, NONE, one + (where.behind or 0))
        if where.name == "receiver":
            return np.where(other == NONE, NONE, other + (where.rtt or 0))
        return np.where(one == NONE, NONE, one + (where.behind or 0) + np.where(other == NONE, 0, other))


def waits(left: Ints, waited: Ints, departures: Ints, size: Ints, capacity: float) -> Ints:
    """Return for how long each segment waited and was sent at the bottleneck, in ns; -1 before the first known one.

    `left` and `waited` are of segments of which it is known. After each, the bottleneck sends `capacity` bytes per
    second, and what the sender adds waits (Lindley's recursion). If the capacity is unknown, segments waited like the
    last known one.
    """
    order = np.argsort(left, kind="stable")
    left, waited = left[order], waited[order]
    if not capacity:
        last = np.searchsorted(left, departures, side="right") - 1
        return np.where(last >= 0, waited[np.maximum(last, 0)], -1)
    time = (departures - departures[0]) // 1000
    sent = (np.cumsum(size) * (1e6 / capacity)).astype(np.int64)
    least = np.concatenate(([0], sent[:-1])) - time  # so that the wait is `sent - time` less the least since then
    at = np.searchsorted(departures, left, side="right") - 1
    at, waited = at[at >= 0], waited[at >= 0]
    least[at] = (sent - time)[at] - waited // 1000
    known = np.zeros(len(time), np.int64)
    known[at] = 1
    apart = (int(least.max()) - int(least.min()) + 1) * np.cumsum(known)  # a known wait starts anew
    found: Ints = 1000 * (sent - time - (np.minimum.accumulate(least - apart) + apart))
    return np.maximum(found, 0)


def _surely_known(found: SegmentsAndAcks, view: SenderView) -> Ints:
    """Return the last ACK that had arrived when each segment left, even if there was a queue too short to count."""
    if view.near or (found.queued != NEVER).any():
        return np.maximum(view.known, 0)
    hidden = max(int(STANDING * found.rtt), STANDING_LEAST_NS)
    return np.maximum(np.searchsorted(view.arrived, view.left - hidden, side="right") - 1, 0)


def recent(column: Any, turn: int) -> Any:
    """Return the largest value of the last `turn` rounds."""
    if turn == 1 or not len(column):
        return column.copy()
    padded = np.concatenate((np.repeat(column[:1], turn - 1), column))
    return np.lib.stride_tricks.sliding_window_view(padded, turn).max(axis=1)


def recent_sum(column: Any, turn: int) -> Any:
    """Return the sum of the last `turn` rounds."""
    total = np.cumsum(column, axis=0)
    total[turn:] -= total[:-turn].copy()
    return total
