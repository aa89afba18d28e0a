"""Measure what a capture shows of the path and of both ends, as properties of a network of the lab."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from statistics import median

from lab.base import ethernet
from lab.ext.explain.exchange import ANY_WINDOW, NEVER, SegmentsAndAcks
from lab.ext.explain.explaining import Closely
from lab.ext.explain.gaps import ACKED, Why, pieces
from lab.ext.explain.limits import GROWING, NAMED, SPREAD, Limit
from lab.ext.explain.lost import lost
from lab.ext.explain.place import selected, to_acks
from lab.ext.explain.rates import headers, joined, over_ipv6, payload_rate, segments
from lab.ext.explain.view import SenderView
from lab.guest.middlebox.lose import MOST
from lab.metric.arrays import Ints, np
from lab.units import Rate

_HOLDS = 1_000_000  # frames: a longer queue is a damaged capture's
_LONGEST = 0.2  # of the waits
_RARE = 0.01  # a probability
_FILLED = 0.8  # of the longest queue: a segment lost behind such a queue overflowed it
_NOTICED = 3  # full frames: a shorter queue is a burst's, and drops nothing
_REPEAT = 2.5  # round trips: losses this close are one event, to which a sender reacts once
# Of the flight after an event: Reno keeps 0.5, CUBIC 0.7 (RFC 9438 4.6), both less what recovery lacks; BBR keeps all
_HALVED, _KEPT = 0.57, 0.85
# HYSTART_DELAY_MIN, HYSTART_DELAY_MAX and HYSTART_MIN_SAMPLES of net/ipv4/tcp_cubic.c
_HYSTART_LEAST_NS, _HYSTART_MOST_NS, _HYSTART_ACKS = 4_000_000, 16_000_000, 8
_EVENTS = 2  # losses that tell how a sender reacts
# A window that is not in use grows to twice the flight at most (tcp_is_cwnd_limited). So if something else limits the
# flight, CUBIC's first two reactions do not show: 2 * 0.7 * 0.7 is about 1
_OTHERS, _MOSTLY, _HIDDEN = (Limit.IDLE, Limit.TURNS, Limit.NAGLE, Limit.WINDOW, Limit.SEND_BUFFER), 0.5, 2
_REGULAR = 12  # losses that tell how often they come
_BEYOND = 1.2  # times the growth
RESTS = 0.05  # of the time: the writer pauses
_PACED = 0.05  # of the gaps before new data: fewer are a host's delays
_PACED_NS = 3_000_000  # data that leaves together: a millisecond's at twice the mean rate (tcp_tso_autosize)


@dataclass(frozen=True)
class SeenPath:
    """Holds what a capture shows of the path and of both ends. Unknown values are None. Times are in ns."""

    rtt: int
    mss: int  # payload of a full segment
    headers: int  # bytes of IP and TCP in a data segment
    ipv6: bool
    rate: float | None  # of the bottleneck, in bit/s of whole frames
    delay: int  # of each direction: half of the least round trip, without the transmission of its packets
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
    header = headers(seen)
    payload = payload_rate(seen)
    rate = 8 * payload * (facts.mss + header + ethernet.AROUND) / facts.mss if payload else None
    ends, waits = _waits(seen)
    frame_ns = 8e9 * (facts.mss + header + ethernet.AROUND) / rate if rate else float("inf")
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
        headers=header,
        ipv6=over_ipv6(seen),
        rate=rate,
        delay=max(facts.where.rtt - int(_transmission(seen, header, rate)), 0) // 2,
        queue=queue,
        overflowed=full is not None,
        lost=0 if listed == () else elsewhere,
        listed=listed,
        sent=int(segments(seen).sum()),
        window=int(window.max()) if len(window) else None,
        opening=int(seen.rows.window[back][0]) if syn and back.any() else None,
        scale=syn.window_scale if syn else None,
        flight=_woken(seen) if seen.explanation.shares.get(Limit.SEND_BUFFER, 0.0) >= NAMED else 0,
        congestion=_congestion(seen),
    )


def _transmission(seen: Closely, header: int, rate: float | None) -> float:
    """Return the time in ns in which the two packets of the least round trip were transmitted at this rate.

    The rebuilt link transmits both again. One is an ACK or as short as one, and the other may carry data.
    """
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    times, since = to_acks(found)
    payload = 0
    if facts.where.name == "sender" and len(since) and int(since.min()) <= (facts.where.beyond or 0):
        number = found.ack[np.searchsorted(found.ack_time, times[since.argmin()], side="right") - 1]
        at = int(np.searchsorted(found.highest, number))
        payload = min(int(found.end[at] - found.seq[at]), facts.mss)
    return 8e9 * (payload + 2 * (header + ethernet.AROUND)) / rate if rate else 0.0


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
    others = before < (0 if joined(seen) else _FILLED * full)
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


def writes_end(seen: Closely) -> bool:
    """Return whether smaller segments show that the program's data ended before the connection did."""
    facts, found = seen.explanation.facts, seen.found
    assert facts is not None
    smaller = ((found.end - found.seq) % facts.mss > 0) & ~found.again
    return bool(smaller[:-1].any())


def _pauses(seen: Closely) -> bool:
    """Return whether the program was the limit, and so a gap that no ACK ended may be the program's."""
    return writes_end(seen) and seen.explanation.shares.get(Limit.IDLE, 0.0) >= RESTS


def _congestion(seen: Closely) -> str | None:
    """Return the congestion control that the reactions to losses show, or None.

    A sender without pacing sends when ACKs arrive. BBR sends at times of its own, and does not react to single losses.
    BBR paces always (SK_PACING_NEEDED, bbr_init), and of the three, only BBR does. So at the sender, gaps that no ACK
    ended show BBR, even if a window limits the flight, and a sender without such gaps is not BBR.

    The first loss often ends slow start, whose overshoot hides the reaction. So of two reactions, the second counts. A
    single one counts as Reno's only if the sender also went on after CUBIC would have left slow start.
    """
    facts, found, view = seen.explanation.facts, seen.found, seen.view
    assert facts is not None
    ack_clocked = False
    if facts.where.name == "sender":
        parts = pieces(found, view, facts.mss, facts.where.rtt or 0)
        paced = parts.why == Why.SPACED
        spaced = int(paced.sum())
        ack_clocked = not spaced
        if spaced > _PACED * (spaced + int(np.isin(parts.why, ACKED).sum())) and not _pauses(seen):
            return "bbr"
        if not writes_end(seen):  # then pauses without data in flight are the sender's
            paced |= parts.why == Why.IDLE
        length = parts.end - parts.start
        own = int(length[paced | np.isin(parts.why, (*ACKED, Why.WINDOW, Why.REPAIR))].sum())
        bursts = int((paced | np.isin(parts.why, ACKED)).sum())  # some leave when an ACK arrives by chance
        sent = int((found.end - found.seq).sum())
        took = int(found.time[-1] - found.time[0])
        small = bursts and sent / bursts <= max(3 * facts.mss, _PACED_NS * sent / max(took, 1))
        if small and length[paced].sum() > SPREAD * own:
            return "bbr"
    if facts.where.name != "sender" and not (found.queued != NEVER).any():
        return None  # the flight is larger than it seems, by what waits in the queue
    events = _events(found, view, facts.where.rtt or 0)
    if len(events) < _EVENTS:
        halved = bool(events) and events[0][1] < _HALVED * events[0][0]
        return "reno" if halved and _overshot(found, facts.where.rtt or 0) else None
    if not ack_clocked and _too_many(events, int(found.time[-1] - found.time[0]), facts.where.rtt or 1, facts.mss):
        return "bbr"
    few = len(events) == _EVENTS
    share = median(after / before for before, after in (events[-1:] if few else events))
    if share >= _KEPT:
        others = sum(seen.explanation.shares.get(each, 0.0) for each in _OTHERS) > _MOSTLY
        return "bbr" if len(events) > _EVENTS + (_HIDDEN if others else 0) and not ack_clocked else None
    return "reno" if share < _HALVED else "cubic"


def _overshot(found: SegmentsAndAcks, rtt: int) -> bool:
    """Return whether the flight grew as in slow start until a loss, although a queue stood for a round trip.

    Linux's CUBIC leaves slow start in the first round trip whose first eight ACKs come later than without a queue: by
    an eighth of the least round trip, but at least 4 ms and at most 16 ms (hystart_update).
    """
    times, since = to_acks(found)
    began = int(found.time[found.again][0])
    late = (since > rtt + min(max(rtt // 8, _HYSTART_LEAST_NS), _HYSTART_MOST_NS)) & (times < began)
    if len(late) < _HYSTART_ACKS:
        return False
    row = np.flatnonzero(np.convolve(late, np.ones(_HYSTART_ACKS), "valid") == _HYSTART_ACKS)
    if not len(row):
        return False
    last = int(row[0]) + _HYSTART_ACKS - 1
    left = int(times[last] + since[last])
    return left < began and _in_flight(found, began - 1) >= GROWING * _in_flight(found, left)


def _in_flight(found: SegmentsAndAcks, at: int) -> int:
    """Return the bytes in flight at this time."""
    sent = int(np.searchsorted(found.time, at, side="right")) - 1
    acked = int(np.searchsorted(found.ack_time, at, side="right")) - 1
    return int(found.highest[sent] - found.ack[acked]) if sent >= 0 and acked >= 0 else 0


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


def _events(found: SegmentsAndAcks, view: SenderView, rtt: int) -> list[tuple[int, int]]:
    """Return the bytes in flight before each loss, and after it, once all data sent before it was acknowledged.

    Times are those of the sender's view, because elsewhere, ACKs follow their segments at once.
    """
    if not len(found.ack) or not len(found.time):
        return []
    again = view.left[found.again[view.order]]
    highest, events = np.maximum.accumulate(found.highest[view.order]), []
    last = NEVER
    for time in again.tolist():
        if time - last < _REPEAT * rtt:
            continue
        at = int(np.searchsorted(view.left, time)) - 1
        ack = int(np.searchsorted(view.arrived, time, side="right")) - 1
        if at < 0 or ack < 0:
            continue
        before, reached = int(highest[at] - found.ack[ack]), int(highest[at])
        done = int(np.searchsorted(found.ack, reached))
        if done >= len(found.ack) or before <= 0:
            break
        last = max(time, int(view.arrived[done]))
        after = int(np.searchsorted(view.left, last + rtt // 4, side="right")) - 1
        acked = int(np.searchsorted(view.arrived, last + rtt // 4, side="right")) - 1
        events.append((before, int(highest[after] - found.ack[acked])))
    return events
