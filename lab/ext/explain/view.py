"""Turn the exchange into the sender's view: when segments left, when ACKs arrived, and what the sender knew."""

from __future__ import annotations

from dataclasses import dataclass

from lab.ext.explain.exchange import NEVER, SegmentsAndAcks
from lab.ext.explain.limits import ALIKE, AROUND, GROUP, MANY, SAME_MOMENT_LEAST_NS, SAME_MOMENT_NS, TICK_NS
from lab.ext.explain.place import Place, super_packets
from lab.metric.arrays import Bools, Ints, np


@dataclass(frozen=True)
class SenderView:
    """Holds the sender's times: when segments left and when ACKs arrived, and the last ACK before each segment."""

    order: Ints  # of segments, by the time at which they left
    left: Ints  # ns, sorted
    arrived: Ints  # ns, of ACKs
    known: Ints  # index of the last ACK that had arrived when a segment left; -1 for none
    slack: int  # ns: times closer than this count as the same moment
    exact: bool  # whether the times are those of a capture at the sender
    sooner: Ints  # ns by which each segment may have left sooner than it seems
    guard: Ints  # ns by which it may have left later
    hidden: Bools  # whether a segment came right behind another, and no timestamp shows when it left

    @property
    def near(self) -> bool:
        """Return whether times are known to less than ACKs usually are apart."""
        return self.exact or bool(self.guard.any())


def sender_view(found: SegmentsAndAcks, where: Place, tick: int | None, mss: int) -> SenderView:
    """Return the view of the sender. `tick` is the period of its timestamps in ns, if known.

    A capture at the sender shows it. Elsewhere, an ACK takes `Place.behind` to the sender and back.
    """
    behind, nothing = where.behind or 0, np.zeros(len(found.time), np.int64)
    if where.name == "sender":
        slack = SAME_MOMENT_NS
        if (where.rtt or 0) >= 2 * SAME_MOMENT_LEAST_NS:
            slack = min(slack, (where.rtt or 0) // 2)
        return _viewed(found, found.time, found.ack_time, slack, (nothing, nothing), nothing > 0, exact=True)
    if tick is None or behind < 2 * tick:
        tick = TICK_NS
    first = super_packets(found.time, found.end - found.seq)
    transmission = _transmission(found, first, mss) if behind >= 2 * tick else None
    if transmission:
        return _departures(found, first, *transmission, behind, tick)
    slack = max(SAME_MOMENT_NS, 2 * tick)
    left = found.time
    if behind >= 2 * tick:
        left = left - np.where((found.queued != NEVER) & ~found.again, found.queued, 0)
    arrived = found.ack_time + max(behind - slack // 2, 0)  # never before the segment that it acknowledges
    return _viewed(found, left, arrived, slack, (nothing, nothing), nothing > 0)


def _viewed(
    found: SegmentsAndAcks,
    left: Ints,
    arrived: Ints,
    slack: int,
    bounds: tuple[Ints, Ints],
    hidden: Bools,
    exact: bool = False,
) -> SenderView:
    order = np.argsort(left, kind="stable")
    left, sooner, guard = left[order], bounds[0][order], bounds[1][order]
    known = np.searchsorted(arrived, left + guard, side="right") - 1
    if (np.diff(found.ack_packet) > 0).all():  # no segment knew a later ACK, though a clock shows the same time
        known = np.minimum(known, np.searchsorted(found.ack_packet, found.packet[order]) - 1)
    return SenderView(order, left, arrived, known, slack, exact, sooner, guard, hidden[order])


def _departures(
    found: SegmentsAndAcks, first: Bools, needed: Ints, transmission: Ints, behind: int, tick: int
) -> SenderView:
    """Return the view that segments show which did not wait in the bottleneck's queue.

    A segment that came later than the one before by more than its transmission did not wait, as the bottleneck was
    idle. So it shows when it left. Other segments left with the segment before, or in the tick of their timestamp, if
    that is later: in its middle, as far as is known. Without timestamps, nothing shows when they left.
    """
    known = (found.queued != NEVER) & ~found.again
    queued = np.where(known, found.queued, 0)
    apart = np.diff(found.time[first], prepend=NEVER // 2)
    lone = (apart > (1 + ALIKE) * needed[first])[np.cumsum(first) - 1]
    alone = found.time - transmission
    early = (queued - transmission)[known].min(initial=0)  # a tick begins so much sooner than it seems
    prompt = lone & known & (queued - transmission - early < tick)
    half = tick // 2 if prompt.sum() >= MANY else 0  # else it is not known when ticks begin
    began = found.time - queued + early
    alone = np.where(known, np.minimum(alone, began + tick), alone)
    run = np.maximum.accumulate(np.where(lone, alone, NEVER))
    blind = np.where(alone - run <= tick, run, alone)
    later = np.diff(found.value, prepend=found.value[:1] - 1) > 0
    middle = np.where(later, np.minimum(began + half, alone), NEVER)
    left = np.maximum.accumulate(np.where(lone, alone, np.where(known, middle, blind)))
    waited = ~lone & (np.diff(left, prepend=left[0]) > SAME_MOMENT_NS)
    error = SAME_MOMENT_LEAST_NS
    guard = error + np.where(lone, 0, np.maximum(alone - left, 0))
    before = np.concatenate((left[:1], left[:-1]))
    sooner = error + np.where(lone | ~known, 0, left - np.maximum(np.minimum(began, left) - tick + 2 * half, before))
    one = int((needed - transmission)[0]) * np.arange(len(found.ack_time))  # ACKs that leave together wait, too
    arrived = np.maximum.accumulate(found.ack_time + behind - one) + one
    return _viewed(found, left, arrived, SAME_MOMENT_NS, (sooner, guard), waited & ~known)


def _transmission(found: SegmentsAndAcks, first: Bools, mss: int) -> tuple[Ints, Ints] | None:
    """Return (for how long the bottleneck sends the segments that pass together with each, and how much of this time
    the least round trip lacks), both in ns. None if no segments show it.

    Full segments, or super-packets, that left together show it, where they came closest (packet dispersion). They have
    the same timestamp. Without timestamps, they were sent with more data behind them, and have no PSH. The least round
    trip has the time of a packet without payload.
    """
    which = np.cumsum(first) - 1
    size = np.bincount(which, found.end - found.seq).astype(np.int64)
    at = np.flatnonzero(first)
    full = (found.end - found.seq)[at] >= mss
    alike = found.value[at][1:] == found.value[at][:-1]
    alike &= (found.value[at][1:] != NEVER) | ~found.pushed[at[1:] - 1]
    each = (np.diff(found.time[at]) / np.maximum(size[1:], 1))[full[1:] & full[:-1] & alike]
    if len(each) < GROUP:
        return None
    byte_ns = float(np.percentile(each, 5)) * mss / (mss + AROUND)
    needed: Ints = (byte_ns * (size + AROUND * -(-size // mss))).astype(np.int64)[which]
    return needed, needed - int(byte_ns * AROUND)
