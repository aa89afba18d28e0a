"""Find the pace of a program that writes block by block with pauses, and how long its writes wait for the send buffer.

A write of more than the send buffer holds returns when so many bytes were acknowledged that the rest fits. Only then
the program's pause begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from lab.ext.explain.explaining import Closely
from lab.ext.explain.gaps import Why, pieces
from lab.ext.explain.limits import SAME_MOMENT_NS
from lab.ext.explain.measuring import SeenPath
from lab.metric.arrays import Ints, np
from lab.model.scenario import KernelTraits
from lab.model.skb import SHARED_INFO, SK_BUFF, gso_bytes, kmalloc, overhead, tcp_header

_PAUSES = 3  # fewer show no regular writes
_INITIAL = 10  # segments: TCP_INIT_CWND


@dataclass(frozen=True)
class SlowWrites:
    """Holds how a program writes: `count` blocks of so many bytes, one in each `cycle`, and its pauses. In ns."""

    block: int
    count: int
    cycle: int
    pause: int


def slow_writes(seen: Closely, path: SeenPath, sent: int) -> SlowWrites | None:
    """Return the writes of a program that paused again and again, or None. `sent` is the number of bytes in all."""
    parts = pieces(seen.found, seen.view, path.mss, path.rtt)
    idle = (parts.why == Why.IDLE) & (parts.end - parts.start > SAME_MOMENT_NS)
    count = int(idle.sum())
    if count < _PAUSES:
        return None
    starts = np.concatenate((seen.view.left[:1], parts.end[idle]))
    cycle = (int(starts[-1]) - int(starts[0])) // count
    last = int(np.searchsorted(seen.view.left, starts[-1]))
    size = (seen.found.end - seen.found.seq)[seen.view.order]
    fresh = ~seen.found.again[seen.view.order]
    block = min(max(int((size * fresh)[:last].sum()) // count, 1), sent)
    pause = max(cycle - _waited(seen, path, starts, block), 1000)
    return SlowWrites(block, max(round(sent / block), 1), max(cycle, 1000), pause)


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
    found, view, holds = seen.found, seen.view, _holds(seen, path)
    need = ceil(max(block - holds, 0) / (holds / 3)) * holds / 3
    if not need:
        return 0
    first = found.seq[view.order][np.searchsorted(view.left, starts[:-1])]
    at = np.searchsorted(found.ack, first + min(int(need), block))
    known = at < len(found.ack)
    waits = np.clip(view.arrived[np.minimum(at, len(found.ack) - 1)] - starts[:-1], 0, np.diff(starts))[known]
    return int(waits.mean()) if len(waits) else 0
