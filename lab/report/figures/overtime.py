"""Draw one bulk transfer over time: goodput, windows, packets."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lab.guest import outputs
from lab.model import base_rtt
from lab.report import drawing
from lab.report.drawing import ARMS, IDLE, MUTED, PREDICTED, REPORTED, Label, axes, draw, heading, labels, picture
from lab.report.figures.scale import scale_of
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim
from lab.report.traffic import BIN, TICK, Series, goodput_of_samples
from lab.units import Value

_SINCE = "time since the first data segment, s"
_STEP = round(1 / BIN)  # bins per second, the interval that iperf prints
_ROUND_TRIPS = 4  # round trips that an IO graph shows
_LABELLED = 0.15  # share of the panel's width: the least gap with room for a label


@draw("goodput over time")
def goodput(claim: TestedClaim, *arms: str) -> Html:
    """Draw goodput in bins of 100 ms and steps of 1 s, with the predicted and claimed figures of the whole transfer.

    The data comes from captures, or from tcp_info samples if there are no captures.
    """
    shown = claim.arms(*arms)
    figure, (panel,) = axes()
    scale, unit = scale_of(each.result.measured or each.claimed for each in shown)
    ends, top = [], 0.0
    for each, colour in zip(shown, ARMS, strict=False):
        bins = _goodput(each)
        if len(bins.time):
            end = float(bins.time[-1]) + BIN
            panel.step(*_closed(bins, end), where="post", color=colour, linewidth=0.8, alpha=0.6, label=each.label)
            panel.step(
                *_closed(bins.means(_STEP), end), where="post", color=colour, linewidth=2, label=f"{each.label}, 1 s"
            )
        top = max(top, float(bins.value.max(initial=0)))
        if measured := each.result.measured:
            name = each.label if len(shown) > 1 else "measured"
            ends.append(Label(measured.number, f"{name} {measured.number / scale:.4g}", colour))
    ends += _bounds(panel, shown, scale)
    levels = [label.y for label in ends]
    panel.set_ylim(0, 1.1 * max([top, *levels]))
    panel.set_xlim(0, None)
    panel.set(xlabel=_SINCE, ylabel=f"goodput, {unit}")
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:.6g}"))
    labels(panel, ends)
    alt = "Goodput over time. " + "; ".join(f"{label.text} {unit}" for label in ends)
    caption = "Goodput in bins of 100 ms (thin) and of 1 s (thick). The numbers are for the whole transfer."
    return picture(claim, "goodput", figure, alt, caption, shown, of_first=True)


def _bounds(panel: Axes, shown: Iterable[TestedCase], scale: float) -> list[Label]:
    """Draw one line for each distinct predicted or claimed figure, and return the labels."""
    predicted = {each.result.predicted.number: "predicted" for each in shown if each.result.predicted}
    claimed = {each.claimed.number: each.whose for each in shown if each.claimed}
    found = []
    for names, colour, style in ((predicted, PREDICTED, drawing.DASHED), (claimed, REPORTED, drawing.DOTTED)):
        for number, name in names.items():
            panel.axhline(number, color=colour, linestyle=style, linewidth=1.5)
            found.append(Label(number, f"{name} {number / scale:.4g}", colour))
    return found


def _goodput(each: TestedCase) -> Series:
    if outputs.captures(each.ran.outputs):
        return each.traffic.goodput
    return goodput_of_samples(each.ran, each.case.path[0])


def _closed(series: Series, end: float) -> tuple[Any, Any]:
    """Return bins as the corners of steps, up to `end`, so that the last bin also has a width."""
    return np.append(series.time, end), np.append(series.value, series.value[-1:])


@draw("windows")
def windows(claim: TestedClaim, *arms: str) -> Html:
    """Draw Wireshark's window scaling graph: the receiver's window and the bytes in flight, one panel per arm."""
    cases = claim.arms(*arms)
    names: dict[str, list[str]] = {}  # of the cases with the same packets
    for each in cases:
        names.setdefault(_packets(each), []).append(each.label)
    shown = list({_packets(each): each for each in reversed(cases)}.values())[::-1]
    figure, panels = axes(len(shown), size=(6.1, 2.5 * len(shown) + 0.6), sharey=True)
    ends = [_windows(each, panel, ", ".join(names[_packets(each)])) for each, panel in zip(shown, panels, strict=True)]
    full = [_full(claim, each) for each in shown]
    top = max(float(panel.dataLim.y1) for panel in panels)
    for panel, found, bytes_ in zip(panels, ends, full, strict=True):
        if bytes_ < top:
            panel.axhline(bytes_, color=MUTED, linewidth=1)
            found.append(Label(bytes_, f"BDP {bytes_:,.0f} B", MUTED))
    panels[0].set(ylim=(0, 1.12 * top), xlim=(0, None))
    for panel, found in zip(panels, ends, strict=True):
        labels(panel, found, room=0.11)
    panels[-1].set_xlabel(_SINCE)
    alt = "Receive window and bytes in flight over time. " + "; ".join(
        f"{each.label}: {', '.join(label.text for label in found)}" for each, found in zip(shown, ends, strict=True)
    )
    caption = "The window that the receiver advertises (rwnd), and what is sent but not acknowledged (in flight)."
    return picture(claim, "windows", figure, alt, caption, cases, of_first=True)


def _packets(each: TestedCase) -> str:
    """Return the hash of the case's capture, or the case's name without a capture."""
    return each.record.outputs[each.capture].sha256 if each.record and each.capture else each.name


def _full(claim: TestedClaim, each: TestedCase) -> float:
    """Return the bytes that fill the path: rate x RTT."""
    scenario = claim.scenario_of(each)
    return scenario.rate.bps * base_rtt(scenario).number / 8 if scenario.rate else float("inf")


def _windows(each: TestedCase, panel: Axes, names: str) -> list[Label]:
    ends = []
    for name, series, colour in (("in flight", each.traffic.inflight, ARMS[1]), ("rwnd", each.traffic.rwnd, ARMS[0])):
        panel.step(series.time, series.value, where="post", color=colour, linewidth=1.6, label=name)
        late = series.value[len(series.value) // 2 :]
        if len(late):
            ends.append(Label(float(np.median(late)), f"{name} {np.median(late):,.0f} B", colour))
    for value, name, colour, style in (
        (each.result.predicted, "predicted", PREDICTED, drawing.DASHED),
        (each.claimed, each.whose, REPORTED, drawing.DOTTED),
    ):
        if value and value.unit == "B":
            panel.axhline(value.number, color=colour, linestyle=style, linewidth=1.5)
            ends.append(Label(value.number, f"{name} {value.number:,.0f} B", colour))
    heading(panel, f"{names}: {_buffers(each)}")
    panel.set_ylabel("MB")
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1e6:.6g}"))
    return ends


def _buffers(each: TestedCase) -> str:
    """Return the largest buffers of both ends, from which the windows follow."""
    sysctls = {node.name: node.sysctls for node in each.case.network.nodes}
    sender, receiver = each.case.path
    sizes = [
        (name, str(sysctls[node].get(f"net.ipv4.{name}", "")).split())
        for name, node in (("tcp_rmem", receiver), ("tcp_wmem", sender))
    ]
    return ", ".join(f"{name} {int(size[2]):,}" for name, size in sizes if len(size) == 3)


@draw("packets per tick")
def io_graph(claim: TestedClaim, arm: str | None = None, start: float = 5.0) -> Html:
    """Draw Wireshark's IO graph: data and ACK packets per 10 ms, for some round trips from `start` (in s) on."""
    each = claim.arms(*([arm] if arm else []))[0]
    rtt = base_rtt(claim.scenario_of(each)).number
    end = start + _ROUND_TRIPS * rtt
    figure, panels = axes(2, size=(6.1, 4.0))
    traffic = each.traffic
    gaps = _idle(traffic.data.between(start, end))
    for panel, series, name, colour in zip(
        panels, (traffic.data, traffic.acks), ("data", "ACK"), (ARMS[0], ARMS[1]), strict=True
    ):
        seen = series.between(start, end)
        panel.bar(seen.time, seen.value, width=0.9 * TICK, align="edge", color=colour)
        panel.set_ylabel(f"{name}, packets\nper 10 ms")
        panel.set_ylim(0, 1.3 * max(1, int(seen.value.max(initial=0))))
        for low, high in gaps:
            panel.axvspan(low, high, color=IDLE, linewidth=0, zorder=0)
    for low, high in gaps:
        text = f"idle {1e3 * (high - low):.0f} ms" if high - low > _LABELLED * (end - start) else ""
        panels[0].annotate(
            text, ((low + high) / 2, 0.9), xycoords=("data", "axes fraction"), ha="center", va="center", color=MUTED
        )
    panels[-1].set(xlabel=_SINCE, xlim=(start, end))
    idle = sum(high - low for low, high in gaps) / (end - start)
    grey = f" Grey: ticks without data, {100 * idle:.0f} % of the time shown." if gaps else ""
    alt = f"Packets per 10 ms from {start:g} s to {end:g} s; no data for {100 * idle:.0f} % of the time."
    caption = (
        f"{escape(each.label)}: data and ACK packets per 10 ms, over {_ROUND_TRIPS} round trips of "
        f"{Value(rtt, 's')}.{grey}"
    )
    return picture(claim, f"io-graph.{each.case.arm}", figure, alt, caption, [each], of_first=True)


def _idle(ticks: Series) -> list[tuple[float, float]]:
    """Return (start, end) of each run of ticks without a packet."""
    empty = np.concatenate(([False], ticks.value == 0, [False]))
    edges = np.flatnonzero(np.diff(empty))
    times = np.append(ticks.time, ticks.time[-1:] + TICK)
    return [(float(times[low]), float(times[high])) for low, high in edges.reshape(-1, 2)]
