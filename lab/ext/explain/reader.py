"""Find the pace of a receiving program that reads slowly, from the moves of the window's right edge.

The right edge moves as the program reads. After a read, Linux announces the window at once if it has at least doubled
(__tcp_cleanup_rbuf), and acknowledges the data that arrived while the window had no room for more. So regular reads
show as moves with a period. The time from the start of the connection to the receiver's FIN, which follows the last
read, then shows how many reads there were.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.ext.explain.exchange import ANY_WINDOW, NEVER, SegmentsAndAcks
from lab.ext.explain.explaining import Closely
from lab.metric.arrays import Ints, np
from lab.metric.packets import FIN, SYN

_STEADY = 0.75  # of the largest window so far: a program that reads all data at once keeps the window this large
_UNREAD = 0.05  # of the ACKs have a smaller window
_LEAST = 4  # reads that show a period
_ALIKE = 0.05  # of a period: the largest standard deviation of regular reads
_HELD = 4  # times the bytes that an ACK usually acknowledges: it was held back until the program read
_LATE = 2  # round trips from a segment to its ACK: longer than the way, unless a queue stands
_REST = 1.5  # round trips: what the sender sent into the window that a read opened belongs to the same read
_USUAL = 3  # the number of long pauses between moves of the edge that show how long a pause is
_OPEN = 0.95  # of the largest window so far: no data is unread
_MOST = 0.5  # of the data
_WHOLE = 0.1  # of a read: the time of all reads is a multiple of the first one's
_NEAR = 0.1  # between the rate from FIN and that of the window's edge


@dataclass(frozen=True)
class SlowReads:
    """Holds how a program reads: so many bytes at a time, one read in each period of `period` ns."""

    block: int
    count: int
    period: float


def slow_reads(seen: Closely, rtt: int, mss: int) -> SlowReads | None:
    """Return the reads of a program that limited the transfer, or None.

    A window becomes smaller only while data is unread. After the last byte, a program reads as data arrives, and not in
    its period.
    """
    found = seen.found
    window = found.edge - found.ack
    if not len(window) or int(window.max()) >= ANY_WINDOW:
        return None
    sent = int((found.end - found.seq)[~found.again].sum())
    full = np.flatnonzero(window < _STEADY * np.maximum.accumulate(window))
    unread = len(full) >= max(2, _UNREAD * len(window))
    took = _reading(seen, rtt)
    for at in (_announced(found), _doubled(found, mss)) if unread else (_held(found, rtt, mss),):
        before = at[found.ack[at] < found.end.max()] if unread else at
        for reads in (at, _first(found.ack_time, at, _REST * rtt), before):
            if period := _period(found.ack_time[reads]):
                return _regular(found, reads, sent, period, took)
    return _irregular(found, full, sent, rtt, took) if unread else _outlasting(seen, rtt, took)


def reads_at_once(found: SegmentsAndAcks, mss: int) -> bool:
    """Return whether the program read each segment as it arrived: few windows are smaller than an earlier one.

    An ACK covers two segments. Unread, they would make the window smaller by about as much.
    """
    window = found.edge - found.ack
    smaller = window <= np.maximum.accumulate(window) - 2 * mss
    return len(window) > 0 and float(smaller.mean()) < _UNREAD


def woken_by(found: SegmentsAndAcks, mss: int) -> int | None:
    """Return how many bytes had to arrive to wake the program, if it then read all of them; None if it was not so.

    A program with SO_RCVLOWAT sleeps until so many bytes are unread (tcp_epollin_ready). Until then, the window becomes
    smaller; then it is open again, and always after the same number of bytes. A slow reader leaves data unread, and its
    reads do not follow the data: an ACK without new data announces them. An ACK covers two segments, so the bytes
    between two reads are up to two segments more than those that woke the program.
    """
    window = found.edge - found.ack
    largest = np.maximum.accumulate(window)
    smaller = np.concatenate(([False], (window < _STEADY * largest)[:-1]))
    at = np.flatnonzero(smaller & (window >= _OPEN * largest) & ~found.repeated)
    between = np.diff(found.ack[at])
    if len(between) < _LEAST:
        return None
    usual = np.abs(between - np.median(between)) <= 2 * mss
    if int(between[usual].sum()) < _MOST * int(found.ack[-1] - found.ack[0]):
        return None
    return max(int(np.median(between[usual])) - 2 * mss + 1, 1)


def _announced(found: SegmentsAndAcks) -> Ints:
    """Return the ACKs that only announce a larger window: a read is their only reason."""
    return np.flatnonzero(found.repeated & (np.diff(found.edge, prepend=found.edge[:1]) > 0))


def _doubled(found: SegmentsAndAcks, mss: int) -> Ints:
    """Return the ACKs that announce a window of at least twice the room that was left, after a read."""
    before = np.concatenate((found.edge[:1], found.edge[:-1]))
    moved = found.edge - before
    return np.flatnonzero((moved >= mss) & (moved >= np.maximum(before - found.ack, mss)))


def _held(found: SegmentsAndAcks, rtt: int, mss: int) -> Ints:
    """Return the ACKs that acknowledge much more than others, long after it was sent, and fill no hole: they waited for
    a read.
    """
    new = np.diff(found.ack, prepend=found.ack[:1])
    usual = float(np.median(new[new > 0])) if (new > 0).any() else 0.0
    holes = np.concatenate(([False], (found.sack_right != NEVER)[:-1])) | (found.sack_right != NEVER)
    newest = np.minimum(np.searchsorted(found.highest, found.ack), len(found.time) - 1)
    late = found.ack_time - found.time[newest] > _LATE * rtt
    return np.flatnonzero((new > _HELD * max(usual, mss)) & late & ~holes)


def _first(time: Ints, at: Ints, apart: float) -> Ints:
    """Return the first ones of moves that are closer than this to each other."""
    return at[np.diff(time[at], prepend=NEVER // 2) > apart]


def _period(time: Ints) -> float | None:
    """Return the period of these times in ns, if they are regular. Single reads may not show."""
    apart = np.diff(time)
    if len(time) < _LEAST or not (usual := float(np.median(apart))):
        return None
    turns = np.concatenate(([0], np.cumsum(np.round(apart / usual))))
    if (np.diff(turns) < 1).any():
        return None
    period, start = np.polyfit(turns, (time - time[0]).astype(np.float64), 1)
    late = time - time[0] - start - period * turns
    return float(period) if np.std(late) <= _ALIKE * period else None


def _reading(seen: Closely, rtt: int) -> int | None:
    """Return the time in ns from the receiver's accept to its FIN; None if the capture lacks one of them.

    Both are half a round trip away from a capture at the sender, and a whole one at the receiver.
    """
    opened, closed = _first_with(seen, SYN, back=True), _first_with(seen, FIN, back=True)
    if opened is None or closed is None or seen.found.ack[-1] < seen.found.end.max():
        return None
    took = closed - opened - rtt
    return took if took > 0 else None


def _first_with(seen: Closely, flag: int, *, back: bool) -> int | None:
    """Return the time of the first packet with this flag, in the ACKs' direction or in that of the data."""
    rows = seen.rows
    at = np.flatnonzero((rows.forward.astype(bool) != back) & (rows.flags & flag > 0))
    return int(rows.time_ns[at[0]]) if len(at) else None


def _outlasting(seen: Closely, rtt: int, took: int | None) -> SlowReads | None:
    """Return the reads of a program that still read when all data had long arrived, although its window was open.

    Its FIN follows the last read, so it shows the mean rate. The first ACK that only announces a larger window shows
    the end of the first period, if the time of all reads is a multiple of it.
    """
    found, opened, closed = seen.found, _first_with(seen, SYN, back=True), _first_with(seen, FIN, back=True)
    ended, at = _first_with(seen, FIN, back=False), _announced(found)
    if not took or opened is None or closed is None or ended is None or not len(at):
        return None
    last = int(found.ack_time[np.searchsorted(found.ack, found.end.max())])
    first = int(found.ack_time[at[0]]) - opened - rtt
    if closed - max(last, ended + rtt) < max(_LATE * rtt, _UNREAD * took) or first <= 0:
        return None
    count = round(took / first)
    if count < _LEAST or abs(took / first - count) > _WHOLE:
        return None
    sent = int((found.end - found.seq)[~found.again].sum())
    return SlowReads(max(round(sent / count), 1), count, took / count)


def _regular(found: SegmentsAndAcks, at: Ints, sent: int, period: float, took: int | None) -> SlowReads:
    """Return the reads of a program with a period. Without FIN, the window's edge shows the size of a read."""
    if took is None:
        turns = float(found.ack_time[at[-1]] - found.ack_time[at[0]]) / period
        count = sent * turns / max(int(found.edge[at[-1]] - found.edge[at[0]]), 1)
    else:
        count = took / period
    count = min(max(round(count), 1), sent)
    return SlowReads(max(round(sent / count), 1), count, period)


def _irregular(found: SegmentsAndAcks, full: Ints, sent: int, rtt: int, took: int | None) -> SlowReads | None:
    """Return reads at the rate at which the window's edge moves, while the window is not open.

    The bytes of a read are those from pause to pause, or from ACK to ACK if the pauses are shorter than round trips.
    """
    first, last = int(full[0]), int(full[-1])
    time, edge = found.ack_time[first : last + 1], found.edge[first : last + 1]
    if time[-1] <= time[0] or edge[-1] <= edge[0]:
        return None
    moved = np.flatnonzero(np.diff(edge) > 0) + 1
    pauses = np.diff(time[moved])
    usual = int(np.sort(pauses)[-_USUAL]) if len(pauses) >= _USUAL else 0
    begins = moved[1:][pauses > usual // 2]
    block = int(np.median(np.diff(edge)[moved - 1]))
    if usual >= 2 * rtt and len(begins) > _USUAL:
        block = int(edge[begins[-1] - 1] - edge[begins[0] - 1]) // (len(begins) - 1)
    rate = float(edge[-1] - edge[0]) / float(time[-1] - time[0])
    if took and abs(rate * took / sent - 1) < _NEAR:
        rate = sent / took
    count = min(max(round(sent / max(block, 1)), 1), sent)
    block = max(round(sent / count), 1)
    return SlowReads(block, count, block / rate)
