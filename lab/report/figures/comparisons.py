"""Compare several trials in one figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from lab.guest import outputs
from lab.metric import drops
from lab.metric.tools import expert_repeats, expert_summaries
from lab.model import frames_in_flight, goodput_window_over_rtt
from lab.record.record import Record
from lab.report import drawing, html, wording
from lab.report.drawing import ARMS, INK, MUTED, PAPER, PREDICTED, REPORTED, axes, bound, draw, onwards, picture
from lab.report.figures.scale import drawn_ends, scale_of
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim
from lab.units import Value

_TICKS = 5  # ticks on the axis of bars, whose numbers may be as long as 5,000,000
_NUMBERED = re.compile(r" \(#\d+\)$")  # how tshark numbers duplicate ACKs


@draw("drops against the limit")
def limits(claim: TestedClaim) -> Html:
    """Plot the number of dropped frames against the wire's limit, with the threshold that the model predicts."""
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
        panel.axvline(threshold, color=colour, linestyle=drawing.DASHED, linewidth=1.4)
        side = "right" if row else "left"
        text = f" {mine[0].case.title}: needs {threshold:,.0f} "
        behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}  # so that no other line crosses it
        panel.annotate(text, (threshold, top / (12 if row else 3)), color=colour, va="center", ha=side, bbox=behind)
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
    return picture(claim, "limits", figure, alt, caption, shown, of_first=True)


def _settings_of_the_article(claim: TestedClaim, panel: Axes) -> None:
    """Mark the article's limits, and whether the article reports drops with each limit."""
    said = {each.case.value.number: each.claimed for each in claim.tested if each.case.value}
    for limit, claimed in said.items():
        if claimed:
            panel.axvline(limit, color=REPORTED, linestyle=drawing.DOTTED, linewidth=1.5)
            verdict = "too small" if claimed.number else "enough"
            panel.annotate(
                f"article: {verdict}", (limit, 1.02), xycoords=("data", "axes fraction"), color=REPORTED, ha="center"
            )


def _ticks(claim: TestedClaim) -> list[float]:
    """Return the points of the sweep with room between them on a logarithmic axis. The article's points have
    priority.
    """
    points = {each.case.value.number: each.claimed for each in claim.tested if each.case.value}
    chosen: list[float] = []
    for point in sorted(points, key=lambda point: (points[point] is None, point)):
        if all(max(point, other) / min(point, other) > 1.4 for other in chosen):
            chosen.append(point)
    return sorted(chosen)


@draw("claimed, predicted and measured")
def bars(claim: TestedClaim, *arms: str, of: str = "", formula: bool = False) -> Html:
    """Draw the article's figure next to prediction and measurement, one group per arm. `of` names the quantity.

    With `formula`, also draw window / RTT. Arms whose unit differs from the unit of the first claimed figure are
    omitted. For a ratio, these are the base arms.
    """
    shown = _of_one_unit(claim.arms(*arms))
    rows = [bar for each in shown for bar in _bars(claim, each, formula)]
    factor, unit = scale_of(bar.value for bar in rows)
    figure, (panel,) = axes(size=(6.1, 0.36 * len(rows) + 0.45 * len(shown) + 0.7))
    place, ticks = 0.0, []
    for index, bar in enumerate(rows):
        if index == 0 or rows[index - 1].of is not bar.of:
            place += 1.0
            _heading(panel, place, bar.of.label)
        place += 1.0
        end, shift = (bar.value.number / factor, place), 5
        if bar.sign:
            bound(panel, end, bar.sign, bar.colour, f"{bar.of.label}, {bar.name} {bar.sign}", across="|")
            shift += 22 * (bar.sign in "≥>")  # behind the arrow
        else:
            panel.barh(place, bar.value.number / factor, height=0.72, color=bar.colour)
            reach = _spread(panel, bar, place, factor)
            end = (max(end[0], reach), place)
            shift += 9 * (bar.value.high == inf)
        panel.annotate(bar.said, end, (shift, 0), textcoords="offset points", va="center", color=bar.colour)
        ticks.append((place, bar.name))
    panel.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    panel.set_ylim(place + 0.6, 0.4)
    panel.set_xlim(0, 1.3 * max(bar.value.number for bar in rows) / factor or 1)
    panel.xaxis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 2.5, 5, 10]))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if all(wording.is_yes_or_no(each.result) for each in shown):
        panel.set_xticks([])  # an event happened or not, and has no scale
    panel.set_xlabel(", ".join(filter(None, (of, unit))) or _relative(claim, shown))
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    alt = "; ".join(f"{bar.of.label}, {bar.name}: {bar.said}" for bar in rows)
    return picture(claim, "bars", figure, alt, _legend(shown, formula), shown)


def _spread(panel: Axes, bar: _Bar, place: float, factor: float) -> float:
    """Draw the interval of a measured figure and the figure of each trial over its bar; return their right end."""
    sample = bar.of.result.sample
    if bar.value is not bar.of.result.measured or len(sample.figures) < 2:
        return 0.0
    drawn = [end / factor for end in drawn_ends(bar.value)]
    numbers = [number / factor for number in sample.numbers]
    label = bar.of.label
    panel.plot(drawn, [place, place], color=INK, linewidth=1.6, label=f"{label}, interval")
    if bar.value.high == inf:
        onwards(panel, (drawn[1], place), True, INK)
    panel.plot(numbers, [place] * len(numbers), "o", color=INK, markersize=3, alpha=0.5, label=f"{label}, a trial")
    return max(*drawn, *numbers)


@dataclass(frozen=True)
class _Bar:
    """Describes a bar for one figure of a case: its name, its text, and its colour."""

    name: str
    value: Value
    said: str
    colour: str
    of: TestedCase

    @property
    def sign(self) -> str:
        """Return the sign of a bound, or "" for a figure."""
        return self.said[0] if self.said[0] in "<>≤≥" else ""


def _of_one_unit(cases: Sequence[TestedCase]) -> tuple[TestedCase, ...]:
    """Return the cases with the unit of the first claimed figure, or of the first figure if no figure is claimed."""
    first = next((each for each in cases if each.claimed), cases[0])
    return tuple(each for each in cases if each.result.unit == first.result.unit)


def _bars(claim: TestedClaim, each: TestedCase, formula: bool) -> Iterator[_Bar]:
    """Yield a bar for each figure of the case, in the order of the page."""
    result = each.result
    if each.claimed:
        yield _Bar(each.whose, each.claimed, wording.claimed_briefly(result), REPORTED, each)
    if formula:
        simple = goodput_window_over_rtt(claim.scenario_of(each))
        yield _Bar("window / RTT", simple, wording.figure(simple), MUTED, each)
    if result.predicted:
        yield _Bar("predicted", result.predicted, wording.foreseen_answer(result), PREDICTED, each)
    if result.measured:
        yield _Bar("measured", result.measured, wording.answer(result, result.measured), ARMS[0], each)


def _heading(panel: Axes, place: float, text: str) -> None:
    """Write the name of a group of bars to the right of the axis, so that the axis does not cross the name."""
    panel.annotate(
        text,
        (0, place),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontweight="bold",
        annotation_clip=False,
    )


def _relative(claim: TestedClaim, shown: Sequence[TestedCase]) -> str:
    """Return the base arms of the ratios, in words, or "" if a figure is not a ratio."""
    titles = {each.case.arm: each.case.title for each in claim.tested}
    bases = dict.fromkeys(titles.get(each.case.relative_to, "") for each in shown)
    return f"relative to {' and '.join(bases)}" if all(bases) else ""


def _legend(shown: Sequence[TestedCase], formula: bool) -> str:
    """Return the names of the bars' figures, in the order of the bars."""
    predicted = "window / RTT; that with slow start and buffers, as predicted" if formula else "predicted by the model"
    said = ["claimed"] if any(each.claimed for each in shown) else []
    said += [predicted] if formula or any(each.result.predicted for each in shown) else []
    text = "; ".join([*said, "measured"])
    several = any(len(each.result.sample.figures) > 1 for each in shown)
    text += ", with its interval and the trials as points" if several else ""
    bounds = any(each.result.bound for each in shown)
    return f"{text[0].upper()}{text[1:]}.{' A stroke with an arrow: a bound, and what it allows.' if bounds else ''}"


@draw("counters")
def counters(claim: TestedClaim) -> Html:
    """Return a table of the counts from the queue, the capture and Wireshark's Expert Info, one row per source."""
    rows = []
    for each in claim.run:
        record, arm = each.record, html.prose(each.label)
        for name in record.outputs if record else ():
            if record and name == outputs.QDISCS_AFTER:
                rows += [[arm, *row, claim.trial_link(record)] for row in _queues(record)]
            if record and outputs.captures([name]):
                lost = f"{each.traffic.retransmitted:,} retransmitted"
                rows.append([arm, name, f"{each.traffic.segments:,} data segments", lost, claim.trial_link(record)])
            if record and outputs.is_expert(name):
                said = _without_numbers(expert_summaries(record.text(name)))
                text = "; ".join(f"{html.prose(summary)}: {frames:,}" for summary, frames in said.items())
                again, kinds = expert_repeats(record.text(name))
                of = "".join(f", {frames:,} of them {kind}" for kind, frames in kinds.items())
                rows.append([arm, "Expert Info", text, f"{again:,} retransmissions{of}", claim.trial_link(record)])
    return Html(html.table(["Arm", "Source", "Counted", "Signs of loss", "Trial"], rows))


def _without_numbers(said: Mapping[str, int]) -> dict[str, int]:
    """Return the counts with 'Duplicate ACK (#1)', 'Duplicate ACK (#2)' and so on added up."""
    found: dict[str, int] = {}
    for summary, frames in said.items():
        kind = _NUMBERED.sub("", summary)
        found[kind] = found.get(kind, 0) + frames
    return found


def _queues(record: Record) -> Iterator[list[str]]:
    """Yield the number of packets through each queue of the wire, and the queue's drops."""
    for queue in record.json(outputs.QDISCS_AFTER):
        if queue["direction"] == "forward":
            name = f"{queue['kind']} on link {queue['node']}"
            seen = f"{queue['packets']:,} packets, {queue['bytes']:,} bytes"
            yield [html.prose(name), seen, f"{queue['drops']:,} dropped"]
