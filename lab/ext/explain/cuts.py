"""Find the times in which segments that were cut to the receive window's edge show that the window was full."""

from __future__ import annotations

from lab.ext.explain.exchange import ANY_WINDOW, SegmentsAndAcks
from lab.ext.explain.limits import CUT
from lab.ext.explain.view import SenderView
from lab.metric.arrays import Ints, np


def full_spans(found: SegmentsAndAcks, view: SenderView, mss: int) -> tuple[Ints, Ints]:
    """Return when spans of time with a full window began and ended at the sender, in ns, in order.

    If data waits and the window has room for part of a segment, Linux cuts the segment to the window's edge
    (tcp_mss_split_point). Nagle's algorithm allows one such segment at a time (tcp_minshall_check). So a full window
    has one in each round trip: when the one before is acknowledged, the edge is a window further. These are bytes, not
    times, so that no queue hides them. The last span lasts until the window has room for all that was sent.
    """
    nothing = np.zeros(0, np.int64)
    if not len(found.edge):
        return nothing, nothing
    small = ((found.end - found.seq) % mss > 0) & ~found.again
    end = np.unique(found.end[small])
    at = np.searchsorted(found.edge, end, side="left")  # the first ACK with this edge
    at, end = at[at < len(found.edge)], end[at < len(found.edge)]
    exact = found.edge[at] == end
    at, end = at[exact], end[exact]
    window = (found.edge - found.ack)[at]
    joined = (np.diff(end) <= CUT * window[1:]) & (window[1:] < ANY_WINDOW)
    if not joined.any():
        return nothing, nothing
    starts, ends = view.arrived[at[:-1][joined]], view.arrived[at[1:][joined]]
    last = int(found.highest[-1])
    if joined[-1] and last - end[-1] <= CUT * window[-1]:
        sent = min(int(np.searchsorted(found.edge, last, side="left")), len(found.edge) - 1)
        starts, ends = np.append(starts, ends[-1]), np.append(ends, view.arrived[sent])
    return starts, ends
