"""Show how often and how soon a receiver sent ACKs, and for which segments, from captures at its interface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from lab.metric import Connection, capture_of
from lab.metric.acks import ack_delays, full_segment, hole, segments_per_ack
from lab.metric.arrays import Floats
from lab.metric.flow import bulk
from lab.report import drawing, wording
from lab.report.drawing import ARMS, IDLE, PREDICTED, REPORTED, Label, axes, draw, heading, labels, picture
from lab.report.html import Html
from lab.report.tested import NotRun, TestedCase, TestedClaim
from lab.spec.metric import described

_SINCE = "time since the first data segment, ms"


@draw("ACKs against data")
def ack_rates(
    claim: TestedClaim, *arms: str, point: str = "", start: float = 0.1, end: float = 0.2, tick: float = 0.01
) -> Html:
    """Draw full data segments and ACKs per tick of `tick` s from `start` to `end`, one panel per arm, on one scale."""
    shown = _those(claim, arms, point)
    figure, panels = axes(len(shown), size=(6.1, 1.9 * len(shown) + 0.6), sharey=True)
    said, top = [], 1.0
    per = "per ms" if tick == 0.001 else f"per {1e3 * tick:g} ms"
    for each, panel in zip(shown, panels, strict=True):
        connection, full = _received(each)
        edges = connection.start_ns + 1e9 * np.arange(start, end + tick / 2, tick)
        ahead, back = connection.forward, connection.back
        data = np.histogram(ahead.time_ns, edges, weights=ahead.payload)[0] / full
        acks = np.histogram(back.time_ns[back.pure_ack], edges)[0]
        at = 1e3 * (edges - connection.start_ns) / 1e9
        panel.stairs(data, at, color=ARMS[0], linewidth=1.8, baseline=None, label="data segments")
        panel.stairs(acks, at, color=ARMS[1], linewidth=1.8, baseline=None, label="ACKs")
        ratio = data.sum() / max(1, acks.sum())
        ends = [
            Label(_typical(data), "data segments", ARMS[0]),
            Label(_typical(acks), f"ACKs, 1 for {ratio:.3g} in {1e3 * (end - start):g} ms", ARMS[1]),
        ]
        if predicted := _ratio_predicted(each):
            expected = np.trim_zeros(data).mean() / predicted
            panel.axhline(expected, color=PREDICTED, linestyle=drawing.DASHED, linewidth=1.3)
        panel.set_yscale("log")
        top = max(top, float(data.max()))
        panel.set_ylabel(per)
        panel.yaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        measured = _ratio_measured(each)
        heading(panel, f"{each.label}{measured and f': {measured}'}")
        shown_of_it = f"{ratio:.4g} segments per ACK from {1e3 * start:g} to {1e3 * end:g} ms"
        said.append(f"{each.label}: {', '.join(filter(None, [shown_of_it, measured]))}")
        _beside(panel, ends)
    panels[-1].set(xlabel=_SINCE, xlim=(1e3 * start, 1e3 * end), ylim=(0.7, 2 * top))
    dashed = " Dashed: the ACKs predicted for that data." if any(map(_ratio_predicted, shown)) else ""
    caption = (
        f"Full segments that reach the receiver and ACKs that it sends, {per}.{dashed} Segments are counted by "
        "payload, because GRO merges many into one packet."
    )
    return picture(
        claim,
        f"ack-rates{point and '.' + point.replace(' ', '-')}",
        figure,
        "; ".join(said),
        caption,
        shown,
        of_first=True,
    )


@draw("delays of ACKs")
def ack_delay_series(claim: TestedClaim, *arms: str) -> Html:
    """Draw the time that each data segment waited for its ACK, one panel per arm."""
    shown = _those(claim, arms, "")
    figure, panels = axes(len(shown), size=(6.1, 1.45 * len(shown) + 0.6))
    said = []
    for each, panel in zip(shown, panels, strict=True):
        delays = ack_delays(_received(each)[0]) / 1e6
        panel.plot(np.arange(1, len(delays) + 1), delays, "o", color=ARMS[0], markersize=4, clip_on=False)
        ends = []
        for value, said_of_it, colour, style in (
            (each.result.predicted, f"predicted {wording.figure(each.result.predicted)}", PREDICTED, drawing.DASHED),
            (each.claimed, f"{each.whose} {each.result.bound}{wording.quoted(each.claimed)}", REPORTED, drawing.DOTTED),
        ):
            if value and value.unit == "s":
                panel.axhline(1e3 * value.number, color=colour, linestyle=style, linewidth=1.4)
                if colour == REPORTED and each.result.bound.strip() == "≤":
                    panel.axhspan(0, 1e3 * value.number, color=IDLE, linewidth=0, zorder=0)
                ends.append(Label(1e3 * value.number, said_of_it, colour))
        top = max([delays.max(initial=0), *(label.y for label in ends)])
        panel.set(ylim=(-0.06 * max(top, 10), 1.15 * max(top, 10)), ylabel="ACK delay, ms")
        heading(panel, each.label)
        labels(panel, ends, room=0.2)
        said.append(f"{each.label}: {delays.min(initial=0):.3g} to {delays.max(initial=0):.4g} ms")
    panels[-1].set_xlabel("data segment")
    caption = (
        "Time at the receiver from a data segment's arrival to the first packet that acknowledges it. Grey: what a "
        "claimed bound allows."
    )
    return picture(claim, "ack-delays", figure, "; ".join(said), caption, shown, of_first=True)


@draw("ACKs behind a hole")
def acks_behind_hole(claim: TestedClaim, *arms: str) -> Html:
    """Draw the segments that arrive behind a lost segment, and the ACKs that they cause, one panel per arm."""
    shown = _those(claim, arms, "")
    figure, panels = axes(len(shown), size=(6.1, 2.0 * len(shown) + 0.6), sharey=True)
    said = []
    for each, panel in zip(shown, panels, strict=True):
        connection, _ = _received(each)
        behind, acks = hole(connection)
        arrived, sent = connection.forward.time_ns[behind], connection.back.time_ns[acks]
        since = arrived[0]
        panel.plot((arrived - since) / 1e6, np.arange(1, len(behind) + 1), ".", color=ARMS[0], markersize=4)
        known = np.searchsorted(arrived, sent, side="right")
        panel.vlines((sent - since) / 1e6, 0, known, color=ARMS[1], linewidth=1.1)
        panel.plot((sent - since) / 1e6, known, "^", color=ARMS[1], markersize=6, clip_on=False)
        heading(panel, f"{each.label}: {len(behind)} segments, {len(acks)} ACKs")
        panel.set(ylabel="segments behind\nthe hole", ylim=(0, 1.1 * len(behind)))
        said.append(f"{each.label}: {len(acks)} ACKs for {len(behind)} segments")
    panels[-1].set_xlabel("time since the first segment behind the hole, ms")
    panels[0].annotate("arrivals", (0.7, 0.75), xycoords="axes fraction", color=ARMS[0])
    panels[0].annotate("ACKs", (0.7, 0.6), xycoords="axes fraction", color=ARMS[1])
    caption = (
        "Dots: segments that arrive behind the lost one. Triangles: ACKs that ask for it again, at the number of "
        "segments that had arrived by then."
    )
    return picture(claim, "hole", figure, "; ".join(said), caption, shown, of_first=True)


def _those(claim: TestedClaim, arms: Sequence[str], point: str) -> tuple[TestedCase, ...]:
    """Return the cases of the arms at this point of a sweep, if they have a record.

    Raises NotRun if no case has a record.
    """
    having = tuple(each for each in claim.arms(*arms) if each.case.point == point)
    if not having:
        raise NotRun(f"{point or 'the claim'} was not run (run `lab run {claim.id}`)")
    return having


def _received(each: TestedCase) -> tuple[Connection, int]:
    """Return the connection from the receiver's capture, and the payload of a full segment."""
    capture = capture_of(each.ran, each.case.path[1])
    connection = bulk(capture)
    return connection, full_segment(capture, connection)


def _ratio_predicted(each: TestedCase) -> float | None:
    """Return the predicted number of segments per ACK, or None if the prediction is about another quantity."""
    predicted = each.result.predicted
    return predicted.number if predicted and predicted.unit == "1" else None


def _ratio_measured(each: TestedCase) -> str:
    """Return the case's figure and its time span in words, if the figure is segments per ACK, else ""."""
    metric = described(each.case.metric).innermost
    if metric.name != segments_per_ack.__name__ or each.result.measured is None:
        return ""
    span = f"{1e3 * metric.given['start']:g} to {1e3 * metric.given['end']:g} ms"
    return f"1 ACK for {wording.figure(each.result.measured)} measured, from {span}"


def _typical(counts: Floats) -> float:
    """Return a line's median height, or its peak if the median is zero."""
    return float(np.median(counts) or counts.max() or 1)


def _beside(panel: Axes, ends: Sequence[Label]) -> None:
    """Write the names to the right of their lines, on any scale."""
    for label in ends:
        panel.annotate(
            label.text,
            (1.01, label.y),
            xycoords=("axes fraction", "data"),
            va="center",
            color=label.colour,
            annotation_clip=False,
        )
