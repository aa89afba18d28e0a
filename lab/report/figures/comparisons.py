"""Compare several trials in one figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lab import outputs
from lab.metric import drops
from lab.metric.tools import expert_summaries
from lab.model import frames_in_flight, goodput_window_over_rtt
from lab.record.record import Record
from lab.report import html
from lab.report.drawing import ARMS, MUTED, PREDICTED, REPORTED, axes, draw, picture
from lab.report.figures.scale import scale_of
from lab.report.html import Html
from lab.report.tested import TestedClaim

__all__ = ["bars", "counters", "limits"]

_NUMBERED = re.compile(r" \(#\d+\)$")  # how tshark tells an ACK's duplicates apart


@draw("drops against the limit")
def limits(claim: TestedClaim) -> Html:
    """Draw the frames that the wire dropped against its limit, with the threshold that the model predicts."""
    shown = claim.run
    count = drops()
    names = list(dict.fromkeys(each.case.arm for each in shown))
    dropped = {each.label: count(each.record).number for each in shown if each.record}
    figure, (panel,) = axes(size=(6.1, 3.8))
    panel.set_xscale("log")
    panel.set_yscale("symlog", linthresh=1, linscale=0.4)
    top = 40 * max(1.0, *dropped.values())
    for row, (name, colour, marker) in enumerate(zip(names, ARMS, "os^", strict=False)):
        mine = [each for each in shown if each.case.arm == name]
        points = sorted((each.case.value.number, dropped[each.label]) for each in mine if each.case.value)
        panel.plot(*zip(*points, strict=True), marker=marker, color=colour, linewidth=1.2, markersize=6, clip_on=False)
        threshold = frames_in_flight(claim.scenario_of(mine[0])).number
        panel.axvline(threshold, color=colour, linestyle=(0, (5, 3)), linewidth=1.4)
        side = "right" if row else "left"
        text = f" {mine[0].case.title}: needs {threshold:,.0f} "
        panel.annotate(text, (threshold, top / (12 if row else 3)), color=colour, va="center", ha=side)
    _settings_of_the_article(claim, panel)
    panel.xaxis.set_major_locator(FixedLocator(_ticks(claim)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panel.yaxis.set_major_locator(FixedLocator([0, 1, 10, 100, 1000, 10000]))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panel.set(ylim=(0, top), xlabel=claim.judged.declared.experiment.axis, ylabel="frames dropped")
    alt = "Frames dropped by limit: " + ", ".join(f"{label}: {number:g}" for label, number in dropped.items())
    caption = (
        "Frames that the delaying queue dropped, one transfer per limit. Dashed: the longest queue that the model "
        "predicts; a smaller limit drops frames."
    )
    return picture(claim, "limits", figure, alt, caption, shown)


def _settings_of_the_article(claim: TestedClaim, panel: Axes) -> None:
    """Mark the limits that the article speaks of, and whether it saw drops there."""
    said = {each.case.value.number: each.claimed for each in claim.tested if each.case.value}
    for limit, claimed in said.items():
        if claimed:
            panel.axvline(limit, color=REPORTED, linestyle=(0, (1, 1.5)), linewidth=1.5)
            verdict = "too small" if claimed.number else "enough"
            panel.annotate(
                f"article: {verdict}", (limit, 1.02), xycoords=("data", "axes fraction"), color=REPORTED, ha="center"
            )


def _ticks(claim: TestedClaim) -> list[float]:
    """Return the points of the sweep with room between them on a logarithmic axis; those of the article first."""
    points = {each.case.value.number: each.claimed for each in claim.tested if each.case.value}
    chosen: list[float] = []
    for point in sorted(points, key=lambda point: (points[point] is None, point)):
        if all(max(point, other) / min(point, other) > 1.3 for other in chosen):
            chosen.append(point)
    return sorted(chosen)


@draw("claimed, predicted and measured")
def bars(claim: TestedClaim, *arms: str, of: str = "", formula: bool = False) -> Html:
    """Draw the article's figure next to the prediction and the measurement, one group per arm; `of` names what was
    measured.

    With `formula`, window / RTT too. Arms whose figures have another unit than the first one's are left out.
    """
    shown = claim.arms(*arms)
    shown = tuple(each for each in shown if each.result.unit == shown[0].result.unit)
    rows = [
        (name, value, colour, each)
        for each in shown
        for name, value, colour in (
            (each.whose, each.claimed, REPORTED),
            ("window / RTT", goodput_window_over_rtt(claim.scenario_of(each)) if formula else None, MUTED),
            ("predicted", each.result.predicted, PREDICTED),
            ("measured", each.result.measured, ARMS[0]),
        )
        if value
    ]
    factor, unit = scale_of(value for _, value, *_ in rows)
    figure, (panel,) = axes(size=(6.1, 0.36 * len(rows) + 0.45 * len(shown) + 0.7))
    place, ticks = 0.0, []
    for index, (name, value, colour, each) in enumerate(rows):
        if index == 0 or rows[index - 1][3] is not each:
            place += 1.0
            panel.annotate(each.label, (0, place), va="center", fontweight="bold", annotation_clip=False)
        place += 1.0
        panel.barh(place, value.number / factor, height=0.72, color=colour)
        said = html.quoted(value) if name == each.whose else html.figure(value)
        end = (value.number / factor, place)
        panel.annotate(said, end, (5, 0), textcoords="offset points", va="center", color=colour)
        ticks.append((place, name))
    panel.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    panel.set_ylim(place + 0.6, 0.4)
    panel.set_xlim(0, 1.3 * max(value.number for _, value, *_ in rows) / factor or 1)
    panel.set_xlabel(", ".join(filter(None, (of, unit))))
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    alt = "; ".join(f"{each.label}, {name}: {html.figure(value)}" for name, value, _, each in rows)
    promised = "window / RTT; that with slow start and buffers, as predicted" if formula else "predicted by the model"
    caption = f"Claimed; {promised}; measured."
    return picture(claim, "bars", figure, alt, caption, shown)


@draw("counters")
def counters(claim: TestedClaim) -> Html:
    """List what the queue, the capture and Wireshark's Expert Info counted, one row per source."""
    rows = []
    for each in claim.run:
        record = each.record
        for name in record.outputs if record else ():
            if record and name == outputs.QDISCS_AFTER:
                rows += [[*row, claim.trial_link(record)] for row in _queues(record)]
            if record and outputs.captures([name]):
                lost = f"{each.traffic.retransmitted:,} retransmitted"
                rows.append([name, f"{each.traffic.segments:,} data segments", lost, claim.trial_link(record)])
            if record and outputs.is_expert(name):
                said = _without_numbers(expert_summaries(record.text(name)))
                text = "; ".join(f"{html.prose(summary)}: {frames:,}" for summary, frames in said.items())
                again = sum(frames for summary, frames in said.items() if "retransmission" in summary.lower())
                rows.append(["Expert Info", text, f"{again:,} retransmissions", claim.trial_link(record)])
    return Html(html.table(["Source", "Counted", "Signs of loss", "Trial"], rows))


def _without_numbers(said: Mapping[str, int]) -> dict[str, int]:
    """Count 'Duplicate ACK (#1)', 'Duplicate ACK (#2)' and so on as one."""
    found: dict[str, int] = {}
    for summary, frames in said.items():
        kind = _NUMBERED.sub("", summary)
        found[kind] = found.get(kind, 0) + frames
    return found


def _queues(record: Record) -> Iterator[list[str]]:
    """Yield the packets through each of the wire's queues, and its drops."""
    for queue in record.json(outputs.QDISCS_AFTER):
        if queue["direction"] == "forward":
            name = f"{queue['kind']} on link {queue['node']}"
            seen = f"{queue['packets']:,} packets, {queue['bytes']:,} bytes"
            yield [html.prose(name), seen, f"{queue['drops']:,} dropped"]
