"""Draw a whole trial on one time axis: goodput, windows, queues and round trips."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lab.errors import LabError
from lab.guest import outputs
from lab.metric.tcp_info import Samples, read
from lab.record.record import Record
from lab.report.chart import Line, Panel, chart
from lab.report.flow import BLUE, GREEN, ORANGE, SINCE, DrawnFlow, series, whole_bursts

_ROUND_TRIPS, _FEWEST = 10, 8  # of a mean of samples: round trips, and the fewest means
_QUEUE = "queue."  # queue.LINK.WAY.json


class Timeline(NamedTuple):
    """Holds the chart, and its points as CSV."""

    drawn: str
    csv: str


def timeline(record: Record, flow: DrawnFlow | None) -> Timeline | None:
    """Return the chart of the trial's flow with the most data, or None if neither a capture nor samples show a flow, or
    if no time passes.

    `flow` is the connection of a capture. Without it, the panels show the kernel's own tcp_info samples.
    """
    if flow is not None and flow.is_bulk:
        panels, start, seconds = flow.panels(), flow.connection.start_ns, flow.seconds
    else:
        try:
            samples = _sampled(record)
            sending = np.flatnonzero(np.diff(samples["bytes_acked"].astype(np.int64))) if samples else np.zeros(0)
            if samples is None or not len(sending):
                return None
            start = int(samples.time_ns[sending[0]])
            seconds = float(samples.time_ns[-1] - start) / 1e9
            panels = list(_panels(samples, start, seconds))
        except LabError:  # damaged, or of a kernel whose tcp_info is shorter
            return None
    if seconds <= 0:
        return None
    panels += _queues(record, start, seconds)
    names = ", ".join(panel.title.partition(";")[0] for panel in panels)
    drawn = chart(panels, SINCE, f"The whole trial over {seconds:.3g} s: {names}", (0.0, seconds))
    return Timeline(drawn, _csv(panels))


def _csv(panels: Iterable[Panel]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["line", "unit", "s", "value"])
    for panel in panels:
        for line in panel.lines:
            writer.writerows([line.name, panel.unit, f"{at:.9g}", f"{value:.9g}"] for at, value in line.points)
    return text.getvalue()


def _sampled(record: Record) -> Samples | None:
    """Return the longest series of tcp_info samples."""
    found = [each for name in record.outputs if outputs.is_tcp_info(name) for each in read(record.path(name))]
    return max(found, key=lambda each: int(each["bytes_acked"].max(initial=0)), default=None)


def _panels(samples: Samples, start: int, seconds: float) -> Iterator[Panel]:
    times = (samples.time_ns - start) / 1e9
    acked = samples["bytes_acked"].astype(np.int64)
    fresh = np.flatnonzero(np.diff(acked, prepend=0) > 0)
    # Samples cut bursts, so the mean is over several round trips: else a steady rate would have steps.
    least = max(seconds / 100, min(seconds / _FEWEST, _ROUND_TRIPS * float(np.median(samples["rtt"][fresh])) / 1e6))
    before = acked[fresh[0] - 1] if len(fresh) and fresh[0] else 0
    goodput = whole_bursts(times[fresh], acked[fresh] - before, least)
    if goodput:
        yield Panel("goodput, bit/s", (Line("goodput", BLUE, points=goodput),))
    window = samples["snd_cwnd"].astype(np.int64) * samples["snd_mss"]
    yield Panel("bytes", (Line("cwnd", ORANGE, points=series(samples.time_ns - start, window)),))
    trips = Line("srtt", BLUE, points=series(samples.time_ns - start, samples["rtt"] / 1e3), shape="dots")
    yield Panel("smoothed round trip, ms", (trips,))


def _queues(record: Record, start: int, seconds: float) -> Iterator[Panel]:
    for name in record.outputs:
        if not (name.startswith(_QUEUE) and name.endswith(".json")):
            continue
        try:
            samples: Sequence[dict[str, int]] = record.json(name)
            time = np.array([each["ns"] for each in samples], np.int64) - start
            waiting = np.array([each["backlog"] for each in samples], np.int64)
        except (LabError, KeyError, TypeError, ValueError, OverflowError):
            continue  # a damaged output has no panel
        inside = time <= seconds * 1e9
        if points := series(time[inside], waiting[inside]):
            link = name[len(_QUEUE) : -len(".json")]
            yield Panel(f"queue {link}, packets", (Line("waiting", GREEN, points=points),))
