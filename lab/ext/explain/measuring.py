"""Measure what a capture shows of the path and of both ends, as properties of a network of the lab."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from statistics import median

from lab.base import ethernet
from lab.ext.explain.exchange import ANY_WINDOW, NEVER, SegmentsAndAcks
from lab.ext.explain.explaining import Closely
from lab.ext.explain.gaps import Why, pieces
from lab.ext.explain.limits import Limit
from lab.ext.explain.lost import lost
from lab.ext.explain.place import selected, to_acks
from lab.guest.middlebox.lose import MOST
from lab.metric.arrays import Bools, Floats, Ints, np
from lab.units import Rate

_HOLDS = 1_000_000  # frames: a longer queue is a damaged capture's
_LONGEST = 0.2  # of the waits
_RARE = 0.01  # a probability
_FILLED = 0.8  # of the longest queue: a segment lost behind such a queue overflowed it
_NOTICED = 3  # full frames: a shorter queue is a burst's, and drops nothing
_GROUP = 8  # ACKs, or segments
_MANY = 16  # groups that the rate of a standing queue needs
_BURSTS = 4  # groups that the rate of bursts needs
_CLOSER = 0.5  # of the time that they are apart behind the bottleneck
_JOINED = 0.1  # of the data packets are super-packets
_LONG = 0.3  # of the time
_FASTER = 1.1  # times the rate of a standing queue: bursts that pass faster show that no queue stood
_ALIKE = 0.05  # rates whose logarithms differ by less
_FULL = 0.9  # of a full segment each
_REPEAT = 2.5  # round trips: losses this close are one event, to which a sender reacts once
# Of the flight after an event: Reno keeps 0.5, CUBIC 0.7 (RFC 9438 4.6), both less what recovery lacks; BBR keeps all
_HALVED, _KEPT = 0.57, 0.85
_EVENTS = 3  # losses that tell how a sender reacts
_REGULAR = 12  # losses that tell how often they come
_BEYOND = 1.2  # times the growth
_PACED_NS = 3_000_000  # data that leaves together: a millisecond's at twice the mean rate (tcp_tso_autosize)
_PACED = 0.5  # of the time between segments without an ACK that released them


@dataclass(frozen=True)
class SeenPath:
    """Holds what a capture shows of the path and of both ends. Unknown values are None. Times are in ns."""

    rtt: int
    mss: int  # payload of a full segment
    headers: int  # bytes of IP and TCP in a data segment
    ipv6: bool
    rate: float | None  # of the bottleneck, in bit/s of whole frames
    queue: int | None  # the longest wait at the bottleneck; None if no queue stood
    overflowed: bool  # whether the queue was too short
    lost: int  # segments that were lost elsewhere
    listed: tuple[tuple[int, int], ...] | None  # (the stream's byte, transmission) of each lost segment; None: too many
    sent: int  # segments
    window: int | None  # the largest advertised window in bytes
    opening: int | None  # the first one
    scale: int | None
    flight: int  # bytes in flight when a full send buffer woke the program; 0 if it never did
    congestion: str | None  # "reno", "cubic" or "bbr"

    @property
    def frame_ns(self) -> float:
        """Return the time of a full frame at the bottleneck."""
        return 8e9 * (self.mss + self.headers + ethernet.AROUND) / self.rate if self.rate else 0.0

    @property
    def limit(self) -> int | None:
        """Return the frames that the bottleneck's direction holds, on the way and in the queue; None for any number.

        The last of them leaves when all others have: after the longest round trip, less the way back.
        """
        if not self.overflowed or self.queue is None or not self.rate:
            return None
        return frames((self.queue + self.rtt / 2) / self.frame_ns)


def frames(number: float) -> int:
    """Return a number of frames that a link can hold."""
    return min(max(round(number), 2), _HOLDS)


def rounded(rate: float) -> Rate:
    """Return a rate in bit/s, rounded to 1 kbit/s if it is higher than that."""
    return Rate(max(int(round(rate, -3 if rate >= 1000 else 0)), 1))


def measure(seen: Closely) -> SeenPath:
    """Return what the capture shows of the path. The explanation must have facts with a round trip."""
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    assert facts.where.rtt is not None
    ipv6 = ":" in str(seen.explanation.sender.source)
    headers = (60 if ipv6 else 40) + (12 if facts.timestamps else 0)
    payload_rate = _rate(seen)
    rate = 8 * payload_rate * (facts.mss + headers + ethernet.AROUND) / facts.mss if payload_rate else None
    ends, waits = _waits(seen)
    frame_ns = 8e9 * (facts.mss + headers + ethernet.AROUND) / rate if rate else float("inf")
    elsewhere, full = _losses(seen, ends, waits, _NOTICED * frame_ns)
    longest = int(np.percentile(waits, 99)) if len(waits) else 0
    listed = _listed(seen)
    queue = full or (longest if longest >= _NOTICED * frame_ns else None)
    window = (found.edge - found.ack)[found.edge - found.ack < ANY_WINDOW]
    back = ~seen.rows.forward.astype(bool)
    syn = seen.connection.ways[1 - seen.connection.forward].syn
    return SeenPath(
        rtt=facts.where.rtt,
        mss=facts.mss,
        headers=headers,
        ipv6=ipv6,
        rate=rate,
        queue=queue,
        overflowed=full is not None,
        lost=0 if listed == () else elsewhere,
        listed=listed,
        sent=int(_segments(seen).sum()),
        window=int(window.max()) if len(window) else None,
        opening=int(seen.rows.window[back][0]) if syn and back.any() else None,
        scale=syn.window_scale if syn else None,
        flight=_woken(seen),
        congestion=_congestion(seen),
    )


def _rate(seen: Closely) -> float | None:
    """Return the payload rate of the bottleneck in bytes per second, or None if no burst shows it.

    While a queue stands, this is the rate at which ACKs arrive, or segments at a capture elsewhere. Without a queue,
    it is the most frequent rate of bursts. No path is slower than the data that it carried for long.
    """
    passed, joined = _passed(seen), _joined(seen)
    standing = _mean_while_full(seen) if joined else _standing_rate(seen, passed)
    burst = _burst_rate(seen, passed, (8,) if joined else (4, 1))
    if not standing and not burst:
        return None
    faster = burst > _FASTER * standing and not (joined and standing)
    seconds = _LONG * (seen.explanation.end - seen.explanation.start) / 1e9
    carried = [each.acked / each.seconds for each in seen.explanation.stretches if each.seconds >= seconds]
    return max(burst if faster else standing, *carried, 0.0)


@dataclass(frozen=True)
class _Passed:
    """Holds the ACKs of new data, or new segments at a capture elsewhere, in order of time. Times are in ns."""

    time: Ints
    reached: Ints  # bytes so far
    holes: Ints  # how many holes in the data there were before; across a hole, no rate can be told
    left: Ints  # when the last of their segments left the sender

    def groups(self, size: int, mss: int, chosen: Bools) -> tuple[Floats, Floats]:
        """Return (bytes per second, ns) of chosen groups of so many full segments, without holes."""
        took = self.time[size:] - self.time[:-size]
        carried = (self.reached[size:] - self.reached[:-size]).astype(np.float64)
        usable = (took > 0) & (self.holes[size:] == self.holes[:-size]) & chosen
        usable &= carried >= _FULL * size * mss  # smaller segments are a program's
        return carried[usable] / took[usable] * 1e9, took[usable].astype(np.float64)


def _passed(seen: Closely) -> _Passed:
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    if facts.where.name != "sender":
        fresh = np.flatnonzero(~found.again)
        time, reached = found.time[fresh], np.cumsum((found.end - found.seq)[fresh])
        return _Passed(time, reached, np.cumsum(found.again)[fresh], time - np.maximum(found.queued[fresh], 0))
    new = np.flatnonzero(np.diff(found.ack, prepend=found.ack[:1]) > 0)
    time, reached = found.ack_time[new], found.ack[new]
    last = np.minimum(np.searchsorted(found.highest, reached), max(len(found.time) - 1, 0))
    return _Passed(time, reached, np.cumsum(found.sack_right != NEVER)[new], found.time[last])


def _standing_rate(seen: Closely, passed: _Passed) -> float:
    """Return the median rate in bytes per second while a queue stood, by time; 0 without enough packets."""
    facts = seen.explanation.facts
    assert facts is not None
    standing = np.zeros(len(passed.time), bool)
    for each in seen.explanation.stretches:
        if each.limit is Limit.RATE:
            standing |= (passed.time >= each.start) & (passed.time <= each.end)
    rates, took = passed.groups(_GROUP, facts.mss, standing[_GROUP:] & standing[:-_GROUP])
    if len(rates) < _MANY:
        return 0.0
    order = np.argsort(rates)
    spent = np.cumsum(took[order])
    return float(rates[order][np.searchsorted(spent, spent[-1] / 2)])


def _mean_while_full(seen: Closely) -> float:
    """Return the mean rate in bytes per second while a queue stood; 0 if that was a small part of the time."""
    full = [each for each in seen.explanation.stretches if each.limit is Limit.RATE]
    if seen.explanation.shares.get(Limit.RATE, 0.0) < _LONG:
        return 0.0
    return sum(each.acked for each in full) / sum(each.seconds for each in full)


def _burst_rate(seen: Closely, passed: _Passed, sizes: tuple[int, ...]) -> float:
    """Return the most frequent rate of bursts in bytes per second, within 5 %; 0 without a burst.

    Behind the bottleneck, the segments of a burst are as far apart as their transmission takes (packet dispersion).
    """
    facts = seen.explanation.facts
    assert facts is not None
    for size in sizes:
        spread = passed.left[size:] - passed.left[:-size] <= _CLOSER * (passed.time[size:] - passed.time[:-size])
        rates, _ = passed.groups(size, facts.mss, spread)
        if len(rates) >= _BURSTS:
            bins = np.round(np.log(rates) / _ALIKE).astype(np.int64)
            values, counts = np.unique(bins, return_counts=True)
            return float(np.median(rates[bins == values[np.argmax(counts)]]))
    return 0.0


def _waits(seen: Closely) -> tuple[Ints, Ints]:
    """Return (ends of segments in order, their waits at the bottleneck in ns): round trips above the least one."""
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    if facts.where.name == "sender":
        times, since = to_acks(found)
        ends = found.ack[np.searchsorted(found.ack_time, times, side="right") - 1]
        more, _, later = selected(found)
        ends, since = np.concatenate((ends, more)), np.concatenate((since, later))
        waits = np.maximum(since + (facts.where.behind or 0) - (facts.where.rtt or 0), 0)
    else:
        known = (found.queued != NEVER) & ~found.again
        ends, waits = found.end[known], found.queued[known]
    order = np.argsort(ends, kind="stable")
    return ends[order], waits[order]


def _losses(seen: Closely, ends: Ints, waits: Ints, least: float) -> tuple[int, int | None]:
    """Return the number of losses elsewhere, and the wait in a queue that overflowed, or None.

    Adjacent lost segments count as one loss. A segment that was sent again counts, less those that arrived twice
    (D-SACK, RFC 2883). The segment before the lost one shows how long the queue was. By chance, a fifth of the losses
    would be behind one of the longest fifth of the queues. If chance does not explain how many are, the queue
    overflowed.
    """
    found = seen.found
    spurious = int(((found.sack_right != NEVER) & (found.sack_right <= found.ack)).sum())
    again, ended = found.seq[found.again], found.end[found.again]
    order = np.argsort(again, kind="stable")
    apart = np.concatenate(([True], again[order][1:] != ended[order][:-1]))[: len(again)]
    again = again[order][apart]
    count = max(len(again) - spurious, 0)
    if not count or not len(ends):
        return count, None
    before = waits[np.maximum(np.searchsorted(ends, again, side="right") - 1, 0)]
    behind = before >= np.percentile(waits, 100 * (1 - _LONGEST))
    full = int(np.median(before[behind])) if behind.any() else 0
    if _by_chance(int(behind.sum()), len(again)) > _RARE or full < least:
        return count, None
    others = before < (0 if _joined(seen) else _FILLED * full)
    return max(int(others.sum()) - spurious, 0), full


def _listed(seen: Closely) -> tuple[tuple[int, int], ...] | None:
    """Return (the stream's byte, transmission) of each lost segment; None if a link cannot lose so many."""
    begun = seen.connection.ways[seen.connection.forward].isn is not None
    origin = 1 if begun else int(seen.found.seq.min())
    found = lost(seen, MOST)
    return None if found is None else tuple((number - origin, sending) for number, sending in found)


def _by_chance(behind: int, losses: int) -> float:
    """Return the probability that at least `behind` losses are behind one of the longest queues by chance."""

    def exactly(k: int) -> float:
        ways = lgamma(losses + 1) - lgamma(k + 1) - lgamma(losses - k + 1)
        return exp(ways + k * log(_LONGEST) + (losses - k) * log1p(-_LONGEST))

    return sum(exactly(k) for k in range(behind, losses + 1))


def _joined(seen: Closely) -> bool:
    """Return whether the capture has super-packets, whose ACKs come at once, and whose segments wait together."""
    return bool((_segments(seen) > 1).mean() > _JOINED)


def _woken(seen: Closely) -> int:
    """Return the median of the bytes in flight when the program was woken to write; 0 if it never was."""
    facts, found, view = seen.explanation.facts, seen.found, seen.view
    assert facts is not None
    parts = pieces(found, view, facts.mss, facts.where.rtt or 0)
    empty = parts.packet[parts.why == Why.EMPTY]
    at = np.flatnonzero(np.isin(found.packet[view.order], empty))
    at = at[at > 0]
    flight = np.maximum.accumulate(found.highest[view.order])[at - 1] - found.ack[np.maximum(view.known[at], 0)]
    flight = flight[flight > 0]
    return int(np.median(flight)) if len(flight) else 0


def _segments(seen: Closely) -> Ints:
    """Return how many full segments each data packet of the capture has: super-packets have several."""
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    return -(-(found.end - found.seq) // facts.mss)


def _congestion(seen: Closely) -> str | None:
    """Return the congestion control that the reactions to losses show, or None.

    A sender without pacing sends when ACKs arrive. BBR sends at times of its own, and does not react to single losses.
    """
    facts, found, view = seen.explanation.facts, seen.found, seen.view
    assert facts is not None
    if facts.where.name == "sender":
        parts = pieces(found, view, facts.mss, facts.where.rtt or 0)
        spent = np.bincount(parts.why, parts.end - parts.start, minlength=len(Why))
        own = spent[[Why.SPACED, Why.CLOCKED, Why.WINDOW, Why.REPAIR]]
        bursts = int((parts.why == Why.SPACED).sum())
        sent = int((found.end - found.seq).sum())
        took = int(found.time[-1] - found.time[0])
        small = bursts and sent / bursts <= max(3 * facts.mss, _PACED_NS * sent / max(took, 1))
        if small and spent[Why.SPACED] > _PACED * own.sum():
            return "bbr"
    events = _events(found, facts.where.rtt or 0)
    if len(events) < _EVENTS:
        return None
    if _too_many(events, int(found.time[-1] - found.time[0]), facts.where.rtt or 1, facts.mss):
        return "bbr"
    share = median(after / before for before, after in events)
    return "reno" if share < _HALVED else "cubic" if share < _KEPT else "bbr"


def _too_many(events: list[tuple[int, int]], took: int, rtt: int, mss: int) -> bool:
    """Return whether flights of this size, in bytes, outlived more losses than Reno and CUBIC grow back from.

    After each loss, CUBIC loses 0.3 of its window, and grows by up to about a segment in each round trip, or by
    0.4 t^3 segments in t seconds (RFC 9438 4.2 and 4.3).
    """
    if len(events) < _REGULAR:
        return False
    apart = took / len(events)
    grown = 1 + apart / rtt + 0.4 * (apart / 1e9) ** 3
    return 0.3 * median(before for before, _ in events) / mss > _BEYOND * grown


def _events(found: SegmentsAndAcks, rtt: int) -> list[tuple[int, int]]:
    """Return the bytes in flight before each loss, and after it, once all data sent before it was acknowledged."""
    if not len(found.ack) or not len(found.time):
        return []
    again = found.time[found.again]
    highest, events = np.maximum.accumulate(found.highest), []
    last = NEVER
    for time in again.tolist():
        if time - last < _REPEAT * rtt:
            continue
        at = int(np.searchsorted(found.time, time)) - 1
        ack = int(np.searchsorted(found.ack_time, time, side="right")) - 1
        if at < 0 or ack < 0:
            continue
        before, reached = int(highest[at] - found.ack[ack]), int(highest[at])
        done = int(np.searchsorted(found.ack, reached))
        if done >= len(found.ack) or before <= 0:
            break
        last = max(time, int(found.ack_time[done]))
        after = int(np.searchsorted(found.time, last + rtt // 4, side="right")) - 1
        acked = int(np.searchsorted(found.ack_time, last + rtt // 4, side="right")) - 1
        events.append((before, int(highest[after] - found.ack[acked])))
    return events
