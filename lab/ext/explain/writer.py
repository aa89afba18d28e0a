"""Find the pace of a program that writes block by block with pauses, and how long its writes wait for the send buffer.

A write of more than the send buffer holds returns when so many bytes were acknowledged that the rest fits. Only then
the program's pause begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from lab.ext.explain.explaining import Closely
from lab.ext.explain.gaps import Why, pieces
from lab.ext.explain.limits import NAMED, SAME_MOMENT_NS, Limit
from lab.ext.explain.measuring import SeenPath, writes_end
from lab.metric.arrays import Bools, Ints, np
from lab.model.scenario import KernelTraits
from lab.model.skb import SHARED_INFO, SK_BUFF, gso_bytes, kmalloc, overhead, tcp_header

_PAUSES = 3  # fewer show no regular writes
_ALIKE = 0.05  # of the median: times from write to write that are the same
_MOST = 0.5  # of these times
_FREQUENT = 0.1  # of these times
_NEARLY = 0.9  # of these times
_ENDS, _DIVISOR = 8, 16  # by chance, so many numbers have a common divisor of 16 or more in one of 10^8 cases
_INITIAL = 10  # segments: TCP_INIT_CWND


@dataclass(frozen=True)
class SlowWrites:
    """Holds how a program writes: `block` bytes at a time, and its pause before each write. Times are in ns.

    `lasts` is the time from a pause before the first write to the last pause.
    """

    block: int
    pause: int
    lasts: int
    regular: bool  # whether most pauses have the same length
    never_waits: bool  # whether each write began in time, so that none before it waited for the send buffer


def slow_writes(seen: Closely, path: SeenPath, sent: int) -> SlowWrites | None:
    """Return the writes of a program that paused again and again, or None. `sent` is the number of bytes in all.

    If most of the times from write to write are multiples of the same time, the others are those of writes that waited.
    A write may begin at the same moment as an ACK arrives, by chance. It follows the end of the write before.
    """
    if not writes_end(seen):
        return None
    parts = pieces(seen.found, seen.view, path.mss, path.rtt)
    long = parts.end - parts.start > SAME_MOMENT_NS
    idle = (parts.why == Why.IDLE) & long
    if int(idle.sum()) < _PAUSES:
        return None
    small = (seen.found.end - seen.found.seq) % path.mss > 0
    ended = np.concatenate((small[:1] & False, small[seen.view.order][:-1]))
    empty = (parts.why == Why.EMPTY) & long
    at_ack = empty & np.isin(parts.packet, seen.found.packet[seen.view.order][ended])
    never_waits = bool(at_ack.sum() > _NEARLY * empty.sum()) and _on_schedule(
        *_starts(seen, parts.end[idle | at_ack]), path.mss
    )
    starts, reached = _starts(seen, parts.end[idle | at_ack] if never_waits else parts.end[idle])
    cycles, sizes = np.diff(starts), np.diff(reached)
    turns, regular = _turns(cycles)
    chosen = turns > 0 if regular else np.ones(len(cycles), bool)
    turns = turns if regular else np.ones(len(cycles), np.int64)
    cycle = max(int(cycles[chosen].sum() / turns[chosen].sum()), 1000)
    block = min(max(round(float(sizes[chosen].sum() / turns[chosen].sum())), 1), sent)
    last = max(round((sent - int(reached[-1])) / block), 1)  # writes since the last pause, which do not show one by one
    if regular and turns.all():  # each write shows, and not only the size of what left from pause to pause
        block = max(round(sent / (int(turns.sum()) + last)), 1)
    if not regular and (shown := _multiples(seen, small)):
        block, cycle = shown
        lasts = max(round(sent / block) - 1, 0) * cycle
        return SlowWrites(block, max(cycle, 1000), lasts + cycle // 2, True, True)
    pause = max(cycle - (0 if never_waits else _waited(seen, path, starts, block)), 1000)
    lasts = int(starts[-1] - starts[0]) + (last - 1) * cycle + pause // 2
    return SlowWrites(block, pause, lasts, regular, never_waits)


def _multiples(seen: Closely, small: Bools) -> tuple[int, int] | None:
    """Return (bytes of a write, ns from write to write) if all smaller segments end at multiples of the same number.

    A smaller segment ends a write (tcp_sendmsg_locked). If writes are more frequent than round trips, Nagle lets only
    one of them leave in a round trip, and the writes between do not show. Ends that are random would have no large
    common divisor. The last segment ends the last write. The writes took place while the program was the limit.
    """
    found = seen.found
    origin = int(found.seq.min())
    idle = np.zeros(len(found.time), bool)
    for each in seen.explanation.stretches:
        if each.limit is Limit.IDLE:
            idle |= (found.time >= each.start) & (found.time <= each.end)
    ends = found.end[small & ~found.again] - origin
    block = int(np.gcd.reduce(ends)) if len(ends) >= _ENDS else 0
    at = np.flatnonzero(small & ~found.again & idle)
    if block < _DIVISOR or len(at) < _ENDS:
        return None
    writes = int(found.end[at[-1]] - found.end[at[0]]) // block
    took = int(found.time[at[-1]] - found.time[at[0]])
    return (block, took // writes) if writes and took >= 1000 * writes else None


def _starts(seen: Closely, pauses: Ints) -> tuple[Ints, Ints]:
    """Return when writes began, after these ends of pauses, and the bytes that were sent before each."""
    starts = np.concatenate((seen.view.left[:1], pauses))
    size = np.where(seen.found.again, 0, seen.found.end - seen.found.seq)[seen.view.order]
    return starts, np.concatenate(([0], np.cumsum(size)))[np.searchsorted(seen.view.left, starts)]


def _turns(cycles: Ints) -> tuple[Ints, bool]:
    """Return how many writes each time from write to write has, 0 if it does not fit, and whether most fit.

    Some writes do not show, because data of the write before was still on its way. So a time is a multiple of the
    shortest one that is frequent.
    """
    near = np.array([int((np.abs(cycles - each) <= _ALIKE * each).sum()) for each in cycles.tolist()])
    frequent = np.unique(cycles[near >= max(_PAUSES, _FREQUENT * len(cycles))])
    while len(frequent):
        usual = float(np.median(cycles[np.abs(cycles - frequent[0]) <= _ALIKE * frequent[0]]))
        turns = np.round(cycles / usual).astype(np.int64)
        turns[np.abs(cycles - turns * usual) > _ALIKE * usual] = 0
        if (turns > 0).mean() > _MOST:
            return turns, True
        frequent = frequent[frequent > (1 + _ALIKE) * usual]
    return np.zeros(len(cycles), np.int64), False


def _on_schedule(starts: Ints, reached: Ints, mss: int) -> bool:
    """Return whether nearly all writes have the same size, and begin after multiples of the same time.

    The end of a write may wait for an ACK (Nagle) and leave with the next one.
    """
    cycles, sizes = np.diff(starts), np.diff(reached)
    turns, regular = _turns(cycles)
    if not regular:
        return False
    block = float(np.median(sizes[turns > 0] / turns[turns > 0]))
    return float(((turns > 0) & (np.abs(sizes - turns * block) <= mss)).mean()) > _NEARLY


def memory(path: SeenPath, flight: int) -> float:
    """Return the memory that a byte of payload takes in a send buffer: with the heads of skbs.

    The size of skbs follows from the pacing rate as in tcp_tso_autosize(): a millisecond at 1.2 times the rate of this
    flight, more over short round trips.
    """
    kernel = KernelTraits()
    size = 1.2 * flight / max(path.rtt, 1) * 1e6 + (gso_bytes(kernel) >> min(path.rtt // 1000 >> 9, 62))
    segments = min(max(int(size // path.mss), 2), max(gso_bytes(kernel) // path.mss, 2))
    return 1 + overhead(kernel) / (segments * path.mss)


def _holds(seen: Closely, path: SeenPath) -> float:
    """Return the payload in bytes that the send buffer holds.

    It has room for twice the largest congestion window so far, with a power of two of memory for each segment
    (tcp_sndbuf_expand). The largest flight shows this window. If the buffer limited the transfer, it held 1.5 times the
    flight at which the program was woken.
    """
    if path.flight:
        return 1.5 * path.flight
    found, view, kernel = seen.found, seen.view, KernelTraits()
    options = path.headers - (60 if path.ipv6 else 40)
    segment = kmalloc(path.mss + options + tcp_header(kernel) + SHARED_INFO) + SK_BUFF
    sent = np.maximum.accumulate(found.highest[view.order])
    flight = (sent - found.ack[np.maximum(view.known, 0)])[view.known >= 0]
    most = int(flight.max()) if len(flight) else 0
    return 2 * max(_INITIAL, most // path.mss) * segment / memory(path, most)


def _waited(seen: Closely, path: SeenPath, starts: Ints, block: int) -> int:
    """Return the mean time in ns that a write waited for room in the send buffer.

    Linux wakes the program each time that a third of a full buffer is free (sk_stream_is_writeable).
    """
    if not path.flight and seen.explanation.shares.get(Limit.WINDOW, 0.0) >= NAMED:
        return 0  # the flight shows the receive window, and so not how large the send buffer is
    found, view, holds = seen.found, seen.view, _holds(seen, path)
    need = ceil(max(block - holds, 0) / (holds / 3)) * holds / 3
    if not need:
        return 0
    first = found.seq[view.order][np.searchsorted(view.left, starts[:-1])]
    at = np.searchsorted(found.ack, first + min(int(need), block))
    known = at < len(found.ack)
    waits = np.clip(view.arrived[np.minimum(at, len(found.ack) - 1)] - starts[:-1], 0, np.diff(starts))[known]
    return int(waits.mean()) if len(waits) else 0
