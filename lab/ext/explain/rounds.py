"""Gather the evidence of a connection in rounds of about a round trip. Memory does not grow with the capture."""

from __future__ import annotations

from dataclasses import dataclass

from lab.ext.explain.exchange import ANY_WINDOW, NEVER, Place, SegmentsAndAcks, SenderView, to_acks
from lab.ext.explain.gaps import Pieces, Why
from lab.metric.arrays import Floats, Ints, np

NONE = np.iinfo(np.int64).max


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

    def mean(self) -> Ints:
        """Return the mean of each round; NONE without a delay."""
        mean = self.total / np.maximum(self.count, 1)
        return np.where(self.count > 0, mean.astype(np.int64), NONE)


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
    sent: Ints  # segments
    again: Ints  # segments that repeat a sequence number
    repeats: Ints  # ACKs that repeat a number, with a SACK block
    arrived: Ints  # bytes of new data that passed the capture
    beyond: Delays  # from a segment at the capture to its ACK
    queued: Delays  # on the way to the capture, above the least
    first_packet: Ints  # number in the capture; NONE without a segment
    full_again: Ints  # full-sized segments sent again
    short: Ints  # segments that end what was written
    spurious: Ints  # ACKs that report a segment as arrived twice (D-SACK, RFC 2883)

    @classmethod
    def empty(cls, start: int, length: int, count: int) -> Rounds:
        """Return rounds without evidence."""
        flight, room, window, acked, sent, again, repeats, arrived, full, short, spurious = np.zeros(
            (11, count), np.int64
        )
        room[:], acked[:] = NONE, NEVER
        time = np.zeros((count, len(Why)))
        return cls(
            *(start, length, time, flight, room, window, acked, sent, again, repeats, arrived),
            *(Delays.empty(count), Delays.empty(count), np.full(count, NONE), full, short, spurious),
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

    def add(self, found: SegmentsAndAcks, view: SenderView, mss: int, delay: int) -> None:
        """Add the evidence of a batch. `delay` moves ACKs from the capture to the sender."""
        order = view.order
        at = self.at(view.left)
        highest = np.maximum.accumulate(found.highest[order]) if len(order) else order
        known = np.maximum(view.known, 0)
        if len(found.ack) and len(order):
            has = view.known >= 0
            np.maximum.at(self.flight, at[has], (highest - found.ack[known])[has])
            np.minimum.at(self.room, at[has], (found.edge[known] - highest)[has])
            window = (found.edge[known] - found.ack[known])[has]
            np.maximum.at(self.window, at[has], np.where(window < ANY_WINDOW, window, 0))
        np.add.at(self.sent, at, 1)
        again = found.again[order]
        np.add.at(self.again, at, again)
        np.add.at(self.full_again, at, again & ((found.end - found.seq)[order] >= mss))
        np.add.at(self.short, at, (found.end - found.seq)[order] % mss > 0)
        np.minimum.at(self.first_packet, at, found.packet[order])
        acks = self.at(view.arrived)
        np.maximum.at(self.acked, acks, found.ack)
        np.add.at(self.repeats, acks, found.repeated & (found.sack_right != NEVER))
        np.add.at(self.spurious, acks, (found.sack_right != NEVER) & (found.sack_right <= found.ack))
        np.add.at(self.arrived, self.at(found.time), np.where(found.again, 0, found.end - found.seq))
        times, since = to_acks(found)
        self.beyond.add(self.at(times + delay), since)
        known = (found.queued != NEVER) & ~found.again
        self.queued.add(self.at(found.time[known]), found.queued[known])

    def finish(self) -> None:
        """Carry the acknowledged numbers forward, after the last batch."""
        self.acked = np.maximum.accumulate(self.acked)

    def delay(self, where: Place) -> Ints:
        """Return the mean round trip in each round, in ns; NONE where no segment shows it."""
        one, other = self.beyond.mean(), self.queued.mean()
        if where.name == "sender":
            return np.where(one == NONE, NONE, one + (where.behind or 0))
        if where.name == "receiver":
            return np.where(other == NONE, NONE, other + (where.rtt or 0))
        return np.where(one == NONE, NONE, one + (where.behind or 0) + np.where(other == NONE, 0, other))
