"""Find segments that left together, although no ACK can have released as much: at a receiver, PSH shows them."""

from __future__ import annotations

from lab.ext.explain.exchange import NEVER, SegmentsAndAcks
from lab.ext.explain.limits import DEFER_NS, DEFERRED, FULL, PACED, PROBED, STARTUP, USUALLY
from lab.metric.arrays import Bools, Ints, np


def unclocked(found: SegmentsAndAcks, mss: int) -> Bools:
    """Return which segments came in a super-packet that is larger than ACKs release at once while a window is full.

    PSH is on the last segment of a super-packet (tcp_gso_segment, __tcp_transmit_skb). A sender with data whose window
    is full waits for more room until an ACK comes a millisecond or more after its last segment (tcp_tso_should_defer).
    So it sends at most what was acknowledged meanwhile: twice as much in slow start, and a pacer what its gain allows.
    A larger super-packet left when it was written: the windows had had room, and the sender had had no data.

    No answer where ACKs acknowledge single segments, which leave without PSH. They do so after a loss, too
    (tcp_cwnd_reduction).
    """
    if len(found.ack) < 2 or not len(found.time) or not found.pushed.any():
        return np.zeros(len(found.time), bool)
    size = found.end - found.seq
    last = found.pushed[:-1] | (found.seq[1:] != found.end[:-1]) | found.again[1:] | found.again[:-1]
    which = np.concatenate(([0], np.cumsum(last)))
    together = np.bincount(which, size)[which]
    lost = np.maximum.accumulate(found.again) | (found.time > found.ack_time[_selects(found)].min(initial=-NEVER - 1))
    most = np.where(lost, PROBED, STARTUP) * _released(found) + mss
    large: Bools = (together > most) & (together <= DEFERRED + mss) & ~_recovering(found, found.time)
    large &= ~_singly(found, mss)
    return large


def _released(found: SegmentsAndAcks) -> int:
    """Return how many bytes ACKs release at once, at most: from an ACK to the first one a millisecond later.

    A larger ACK than most, by bytes, does not count, nor does the growth of the receive window.
    """
    after = np.searchsorted(found.ack_time, found.ack_time + DEFER_NS, side="right")
    after = np.minimum(after, len(found.ack) - 1)
    window = found.edge - np.maximum.accumulate(found.edge - found.ack)
    freed = np.maximum(found.ack[after] - found.ack, window[after] - window)
    order = np.argsort(freed)
    usual = ~_recovering(found, found.ack_time[after])
    done = np.cumsum((np.diff(found.ack, append=found.ack[-1]) * usual)[order])
    return int(freed[order][np.searchsorted(done, USUALLY * done[-1])])


def _singly(found: SegmentsAndAcks, mss: int) -> Bools:
    """Return which segments single segments' ACKs may have released: of data before them, as much as a window."""
    steps = np.diff(found.ack, prepend=found.ack[0])
    single = np.concatenate(([0], np.cumsum(np.where(steps < PACED * mss, steps, 0))))
    known = np.maximum(np.searchsorted(found.ack_time, found.time, side="right") - 1, 0)
    window = np.maximum.accumulate(found.edge - found.ack)[known]
    first = np.searchsorted(found.ack, found.seq - window, side="right")
    last = np.searchsorted(found.ack, found.seq, side="right")
    covered = np.minimum(window, found.seq - found.seq[0])
    singly: Bools = single[last] - single[first] > (1 - FULL) * covered
    return singly


def _selects(found: SegmentsAndAcks) -> Bools:
    """Return which ACKs have a SACK block behind a hole."""
    selects: Bools = (found.sack_right != NEVER) & (found.sack_right > found.ack)
    return selects


def _recovering(found: SegmentsAndAcks, times: Ints) -> Bools:
    """Return which times are in a recovery: while ACKs have SACK blocks, and as long afterwards, and a round trip."""
    selects = _selects(found)
    if not selects.any():
        return np.zeros(len(times), bool)
    begins = selects & ~np.concatenate(([False], selects[:-1]))
    rows = np.arange(len(selects))
    begun = found.ack_time[np.maximum.accumulate(np.where(begins, rows, 0))]
    ends = np.maximum.accumulate(np.where(selects, 2 * found.ack_time - begun + found.rtt, NEVER))
    at = np.searchsorted(found.ack_time, times, side="right") - 1
    near: Bools = (at >= 0) & (times <= ends[np.maximum(at, 0)])
    return near
