"""Measure the rate of the bottleneck from the times at which segments, or their ACKs, passed the capture."""

from __future__ import annotations

from dataclasses import dataclass

from lab.base import ethernet
from lab.ext.explain.exchange import NEVER
from lab.ext.explain.explaining import Closely
from lab.ext.explain.limits import Limit
from lab.ext.explain.place import to_acks
from lab.metric.arrays import Bools, Floats, Ints, np

_GROUP = 8  # ACKs, or segments
_MANY = 16  # groups that the rate of a standing queue needs
_BURSTS = 4  # groups that the rate of bursts needs
_SLOWER = 1.5  # times the delay of the fastest large burst: a usual one is delayed by more than its transmission
_CLOSER = 0.5  # of the time that they are apart behind the bottleneck
_JOINED = 0.1  # of the data packets are super-packets
_LONG = 0.3  # of the time
_FASTER = 1.1  # times the rate of a standing queue: bursts that pass faster show that no queue stood
_ALIKE = 0.05  # rates whose logarithms differ by less
_FULL = 0.9  # of a full segment each


def payload_rate(seen: Closely) -> float | None:
    """Return the payload rate of the bottleneck in bytes per second, or None if no burst shows it.

    While a queue stands, this is the rate at which ACKs arrive, or segments at a capture elsewhere. Without a queue,
    it is the most frequent rate of bursts. No path is slower than the data that it carried for long.
    """
    passed, merged = _passed(seen), joined(seen)
    if merged:
        whole = _whole(seen, passed)
        standing = _standing_rate(seen, whole if len(whole.time) else passed) or _mean_while_full(seen)
        burst = _burst_rate(seen, whole, (8, 4, 2)) or _burst_rate(seen, passed, (8,))
    else:
        standing, burst = _standing_rate(seen, passed), _burst_rate(seen, passed, (4, 1))
    if not standing and not burst:
        return _lone_rate(seen) or None
    faster = burst > _FASTER * standing and not (merged and standing)
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


def _whole(seen: Closely, passed: _Passed) -> _Passed:
    """Return the ACKs that were the first to cover a whole super-packet; nothing if the capture is not the sender's.

    All ACKs of a super-packet come at once, so that only those of different super-packets are apart by its time.
    """
    facts = seen.explanation.facts
    at = np.searchsorted(passed.reached, np.unique(seen.found.highest))
    at = np.unique(at[at < len(passed.reached)]) if facts and facts.where.name == "sender" else at[:0]
    return _Passed(passed.time[at], passed.reached[at], passed.holes[at], passed.left[at])


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


def _lone_rate(seen: Closely) -> float:
    """Return the payload rate in bytes per second at which round trips grow with what left together; 0 if unknown.

    The last byte of a larger burst waits for the transmission of the whole burst. So the least round trips of the
    smallest and of the largest bursts differ by the time that the additional bytes take.
    """
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    if facts.where.name != "sender":
        return 0.0
    times, since = to_acks(found)
    last = np.searchsorted(found.highest, found.ack[np.searchsorted(found.ack_time, times, side="right") - 1])
    begins = np.maximum.accumulate(np.where(np.diff(found.time, prepend=NEVER // 2) > 0, np.arange(len(found.time)), 0))
    around = headers(seen) + ethernet.AROUND
    burst = found.end[last] - found.seq[begins[last]] + around * (last - begins[last] + 1)
    sizes, which, counts = np.unique(burst, return_inverse=True, return_counts=True)
    usual = np.flatnonzero(counts >= _BURSTS)
    if len(usual) < 2:
        return 0.0
    least, most = (int(since[which == usual[at]].min()) for at in (0, -1))
    typical = float(np.median(since[which == usual[-1]]))
    if most <= least or typical - least > _SLOWER * (most - least):
        return 0.0
    return 1e9 * float(sizes[usual[-1]] - sizes[usual[0]]) / (most - least) * facts.mss / (facts.mss + around)


def joined(seen: Closely) -> bool:
    """Return whether the capture has super-packets, whose ACKs come at once, and whose segments wait together."""
    return bool((segments(seen) > 1).mean() > _JOINED)


def segments(seen: Closely) -> Ints:
    """Return how many full segments each data packet of the capture has: super-packets have several."""
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    return -(-(found.end - found.seq) // facts.mss)


def over_ipv6(seen: Closely) -> bool:
    """Return whether the connection's addresses are IPv6's."""
    return ":" in str(seen.explanation.sender.source)


def headers(seen: Closely) -> int:
    """Return the bytes of IP and TCP in a data segment."""
    facts = seen.explanation.facts
    return (60 if over_ipv6(seen) else 40) + (12 if facts and facts.timestamps else 0)
