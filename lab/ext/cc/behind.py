"""Draw what is behind a case's figure: goodput and queue over time, from the record of one trial."""

from __future__ import annotations

from contextlib import suppress

from lab.errors import LabError
from lab.guest import outputs
from lab.metric.flows import Shares, shares_of
from lab.record.record import Record
from lab.report.chart import Line, Panel, chart

BIN = 0.5  # seconds of a point of goodput
POINTS = 400  # of a queue's line, because a page has thirty of them
LINES = 5  # flows with lines of their own
_COLOURS = tuple(f"var(--arm-{number})" for number in range(1, LINES + 1))


def drawn(record: Record, name: str) -> str:
    """Return the charts of a trial as SVG; "" if the trial sampled neither its flows nor its queue."""
    panels, end = [], 0.0
    with suppress(LabError):  # no probe sampled the flows
        shares = shares_of(record)
        panels.append(Panel("goodput, bit/s", tuple(_goodputs(shares))))
        end = shares.end
    if samples := _queue(record):
        panels.append(Panel("queue, packets", (Line("queue", _COLOURS[0], samples),), height=90))
        end = max(end, samples[-1][0])
    return chart(panels, "seconds", f"{name}: goodput and queue over time", (0.0, end)) if panels else ""


def _goodputs(shares: Shares) -> list[Line]:
    """Return a line for each flow. If there are too many flows, return a line of their sum."""
    found = {name: shares.over_time(name, BIN) for name in shares.taken}
    if len(found) <= LINES:
        return [
            Line(name, colour, list(zip(starts.tolist(), rates.tolist(), strict=True)))
            for (name, (starts, rates)), colour in zip(found.items(), _COLOURS, strict=False)
        ]
    total: dict[float, float] = {}
    for starts, rates in found.values():
        for start, rate in zip(starts.tolist(), rates.tolist(), strict=True):
            total[start] = total.get(start, 0.0) + rate
    return [Line(f"all {len(found)} flows", _COLOURS[0], sorted(total.items()))]


def _queue(record: Record) -> list[tuple[float, float]]:
    """Return (seconds, packets) of the bottleneck's queue: the longest queue in each of equal stretches of time."""
    name = outputs.queue("bottleneck", "forward")
    if name not in record.outputs:
        return []
    if not (samples := record.json(name)):
        return []
    zero, step = samples[0]["ns"], max(1, len(samples) // POINTS)
    parts = [samples[at : at + step] for at in range(0, len(samples), step)]
    return [((part[0]["ns"] - zero) / 1e9, max(each["backlog"] for each in part)) for part in parts]
