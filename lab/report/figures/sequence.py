"""Draw the time-sequence graph: bytes sent, acknowledged and selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import FuncFormatter

from lab.metric import Connection, MetricError, bulk, capture_of, sack_blocks
from lab.report.drawing import ARMS, INK, MUTED, axes, draw, picture
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_BEFORE, _AFTER = 1.3, 2.5  # round trips around the first retransmission: the lost segment left one before
_AGAIN = ARMS[1]
_PURPLE = "#8E44AD"

_TEXT: Any = {"textcoords": "offset points", "va": "center", "zorder": 4}

_Span = tuple[float, float, float]  # time in ms, from and to in bytes


@dataclass(frozen=True)
class _Marks:
    """Holds the marks of a graph. Times are in ms and sequence numbers in bytes since the first data segment."""

    sent: Sequence[_Span]
    again: Sequence[_Span]
    selected: Sequence[_Span]
    acked: Sequence[tuple[float, float]]
    offered: Sequence[tuple[float, float]]  # the right edge of the receive window


@draw("the time-sequence graph")
def sequence(claim: TestedClaim, arm: str, at: float | None = None, span: float | None = None) -> Html:
    """Draw the segments, retransmissions, ACKs and SACK blocks of an arm's bulk connection, as captured at its sender.

    The graph shows `span` seconds from `at`, in s since the first data segment. Default: around the first
    retransmission.
    """
    shown = claim.arms(arm)[:1]
    marks, low, high = _marks(shown[0], at, span)
    figure, (panel,) = axes(size=(6.1, 4.2))
    _bars(panel, marks.sent, ARMS[0], 2.0, "segment")
    _bars(panel, marks.selected, _PURPLE, 1.0, "SACK block")
    _bars(panel, marks.again, _AGAIN, 2.0, "")
    if marks.acked:
        panel.step(*zip(*marks.acked, strict=True), where="post", color=INK, linewidth=1.4, label="acknowledged")
        panel.step(
            *zip(*marks.offered, strict=True), where="post", color=ARMS[2], linewidth=1.2, label="receive window"
        )
    _name_losses(panel, marks)
    heights = [edge for _, *edges in (*marks.sent, *marks.again) for edge in edges]
    least, most = min(heights), max(heights)
    room = 0.08 * (most - least)
    panel.set(xlim=(1e3 * low, 1e3 * high), ylim=(max(least - room, -room / 2), most + room))
    panel.set(xlabel="time since the first data segment, ms", ylabel="sequence number, kB")
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1e3:,.0f}"))
    panel.grid(False)
    panel.legend(loc="upper left", frameon=False, labelcolor=MUTED)
    alt = (
        f"Sequence numbers over time: {len(marks.sent)} segments, {len(marks.again)} retransmissions, "
        f"{len(marks.selected)} SACK blocks from {low:.3f} to {high:.3f} s"
    )
    caption = (
        f"{escape(shown[0].label)}, captured at its sender. Bars: the bytes of a segment as it leaves, or of a SACK "
        "block as it arrives. R: sent again. Lines: the acknowledgement number, and the window's right edge."
    )
    return picture(claim, f"sequence-{arm}", figure, alt, caption, shown, of_first=True)


def _marks(tested: TestedCase, at: float | None, span: float | None) -> tuple[_Marks, float, float]:
    """Return the two times, and the marks between them.

    Raises MetricError if no segment was sent between them.
    """
    assert tested.record is not None
    capture = capture_of(tested.record, tested.case.path[0])
    connection = bulk(capture)
    ahead, back, start = connection.forward, connection.back, connection.start_ns
    low, high = _window(connection, at, span)
    origin = int(ahead.seq[ahead.data][0])

    def inside(times: np.ndarray) -> np.ndarray:
        seconds = (times - start) / 1e9
        return (seconds >= low) & (seconds <= high)

    def spans(rows: np.ndarray) -> list[_Span]:
        columns = (1e-6 * (ahead.time_ns - start), ahead.seq - origin, ahead.seq + ahead.payload - origin)
        return list(zip(*(column[rows].tolist() for column in columns), strict=True))

    seen = ahead.data & inside(ahead.time_ns)
    if not seen.any():
        raise MetricError(f"no segment was sent from {low:g} to {high:g} s")
    rows = np.flatnonzero(inside(back.time_ns) & (back.ack >= 0))
    times = (1e-6 * (back.time_ns - start)).tolist()
    blocks = sack_blocks(capture, back)
    selected = [
        (times[row], float(left - origin), float(right - origin))
        for row in rows.tolist()
        for left, right in blocks.get(row, ())
    ]
    acked = [(times[row], float(back.ack[row] - origin)) for row in rows.tolist()]
    offered = [(at, edge + float(back.window[row])) for (at, edge), row in zip(acked, rows.tolist(), strict=True)]
    sent, again = spans(seen & ~ahead.retransmitted), spans(seen & ahead.retransmitted)
    return _Marks(sent, again, selected, acked, offered), low, high


def _window(connection: Connection, at: float | None, span: float | None) -> tuple[float, float]:
    """Return the start and end of the graph, in s since the first data segment."""
    rtt = connection.handshake_ns() / 1e9
    ahead = connection.forward
    again = ahead.time_ns[ahead.retransmitted]
    first = (int(again[0]) - connection.start_ns) / 1e9 if len(again) else 0.0
    low = max(0.0, first - _BEFORE * rtt) if at is None else at
    return low, low + ((_BEFORE + _AFTER) * rtt if span is None else span)


def _name_losses(panel: Axes, marks: _Marks) -> None:
    """Write R at each retransmission, and "lost" at the segment that the first retransmission repeats, if it is
    visible.
    """
    for time, low, high in marks.again:
        panel.annotate("R", (time, (low + high) / 2), (5, 0), **_TEXT, color=_AGAIN, fontweight="bold")
    for _, low, high in marks.again[:1]:
        for time, start, end in marks.sent:
            if start <= low < end:
                arrow = {"arrowstyle": "-|>", "color": _AGAIN, "shrinkB": 3}
                panel.annotate("lost", (time, (low + high) / 2), (28, -26), **_TEXT, color=_AGAIN, arrowprops=arrow)


def _bars(panel: Axes, spans: Sequence[_Span], colour: str, width: float, label: str) -> None:
    lines = [((time, low), (time, high)) for time, low, high in spans]
    panel.add_collection(LineCollection(lines, colors=colour, linewidths=width, label=label))
