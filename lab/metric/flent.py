"""Read Flent's data files: gzipped JSON with every raw point of every series."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from lab.guest import outputs
from lab.metric.arrays import np
from lab.record.record import LONGEST_TEXT, Record
from lab.spec.metric import Measure, MetricError, Quantile, measures
from lab.units import Value

_RAMP = 0.25  # share of the load's duration in which its queue builds up
_PINGS = "Ping"  # begins the name of each series of round trips
_PING = "Ping (ms) ICMP"
_QUOTED = re.compile(r"^Stdout: (.*\S)", re.MULTILINE)  # after "WARNING: Program exited non-zero."
_DAMAGED = (OSError, EOFError, zlib.error, ValueError, RecursionError)  # msgspec's errors are ValueErrors
_APART_SECONDS, _APART_SHARE = 0.5, 0.05  # flows that start and end so far from each other run at different times


class _Point(Struct, frozen=True):
    t: float  # seconds; of a flow, the end of the interval
    val: float  # Mbit/s, or ms
    dur: float = 0.0  # seconds of the interval


class _About(Struct, frozen=True, rename="upper"):
    runner: str = ""
    mean_value: float | None = None
    elapsed_time: float | None = None  # seconds that netperf's flow took


class _Metadata(Struct, frozen=True, rename="upper"):
    series_meta: dict[str, _About] = {}


class _Contents(Struct, frozen=True):
    """Holds the part of a data file that the metrics read."""

    raw_values: dict[str, list[_Point]]
    metadata: _Metadata = _Metadata()

    def about(self, name: str) -> _About:
        return self.metadata.series_meta.get(name, _About())

    def time(self, name: str) -> tuple[float, float]:
        """Return when a flow that has points starts and ends, in seconds."""
        points = self.raw_values[name]
        start = points[0].t - points[0].dur
        elapsed = self.about(name).elapsed_time
        return start, points[-1].t if elapsed is None else start + elapsed


def flent_file(record: Record) -> Path:
    """Return the path of the data file that Flent left behind.

    Raises MetricError if there is no data file, or more than one.
    """
    names = [name for name in record.outputs if name.endswith(outputs.FLENT_SUFFIX)]
    if len(names) != 1:
        raise MetricError(f"Flent left {len(names)} data files; see flent.log{_reason(record)}")
    return record.path(names[0])


@measures("bit/s")
def flent_goodput(of: str | None = None) -> Measure:
    """Measure the goodput that netperf reports at the end of the transfer: Flent's MEAN_VALUE.

    If the test has several flows, `of` is the name of one flow in Flent, or the start of several names, such as "TCP
    upload". The goodput of several flows is their sum. If they do not run at the same time, their means have no sum,
    and the metric raises MetricError.
    """

    def measure(record: Record) -> Value:
        contents, loads = _contents(record)
        wanted = [of] if of in loads else [name for name in loads if name.startswith(of or "")]
        if not wanted or (of is None and len(wanted) > 1):
            raise MetricError(f"Flent has the flows {', '.join(loads)}; name some of them, such as of='{loads[0]}'")
        _check_times(contents, wanted)
        return Value(sum(_mean(record, contents, name) for name in wanted) * 1e6, "bit/s")

    return measure


@measures("s", by=lambda given: "mean" if given["quantile"] is None else "median")
def flent_rtt(of: str | None = None, quantile: Quantile | None = None, idle: bool | None = None) -> Measure:
    """Measure the median ping RTT during the transfer, after its queue has built up.

    `of` is the name of the pings in Flent, such as "Ping (ms) UDP BE" (default: "Ping (ms) ICMP"). `quantile` gives
    a different quantile than the median. With `idle`, the pings before the transfer count instead.
    """
    if of is not None and not of.startswith(_PINGS):
        raise ValueError(f"'{of[:60]}' is no series of pings in Flent; their names begin with '{_PINGS}', as '{_PING}'")

    def measure(record: Record) -> Value:
        contents, loads = _contents(record)
        raw = contents.raw_values
        points = [point for name in loads for point in raw[name]]
        first, last = min(point.t for point in points), max(point.t for point in points)
        low, high = first + _RAMP * (last - first), last
        if idle:
            low, high = 0.0, min(point.t - point.dur for point in points)
        if (series := of or _PING) not in raw:
            there = ", ".join(name for name in raw if name.startswith(_PINGS) and raw[name]) or "no ping at all"
            raise MetricError(f"Flent has no series '{series}', but {there}; choose one with of=...")
        pings = [ping.val for ping in raw[series] if low <= ping.t <= high]
        if not pings:
            raise MetricError(f"Flent's ping got no answer {'before' if idle else 'during'} the transfer")
        return Value(float(median(pings) if quantile is None else np.quantile(pings, quantile)) / 1e3, "s")

    return measure


def _unpacked(file: Path) -> bytes:
    with gzip.open(file) as packed:
        content = packed.read(LONGEST_TEXT + 1)
    if len(content) > LONGEST_TEXT:
        raise ValueError("a tiny file may unpack to more than the memory")
    return content


def _contents(record: Record) -> tuple[_Contents, list[str]]:
    """Return the contents of the data file, and the names of the series that load the path.

    Raises MetricError if Flent does not write such a file after a transfer.
    """
    file = flent_file(record)
    try:
        contents = msgspec.json.decode(_unpacked(file), type=_Contents)
        raw = contents.raw_values
        loads = [name for name in raw if not name.startswith(_PINGS) and (raw[name] or _is_netperf(contents, name))]
        if not any(raw[name] for name in loads):
            raise ValueError("no transfer")
    except _DAMAGED as error:
        raise MetricError(f"{file.name} is not what Flent writes after a transfer{_reason(record)}") from error
    return contents, loads


def _is_netperf(contents: _Contents, name: str) -> bool:
    """Return whether netperf made the series, even if it has no points. Flent computes other series without points."""
    return contents.about(name).runner == "NetperfDemoRunner"


def _check_times(contents: _Contents, names: list[str]) -> None:
    """Raise MetricError if flows run at different times. A sum of their means may exceed the rate of the link."""
    times = [contents.time(name) for name in names if contents.raw_values[name]]
    if len(times) < 2:
        return
    starts, ends = zip(*times, strict=True)
    apart = max(max(each) - min(each) for each in (starts, ends))
    if apart > max(_APART_SECONDS, _APART_SHARE * (max(ends) - min(starts))):
        raise MetricError(
            f"the flows {', '.join(names)} start or end {apart:.1f} s apart, so their means have no sum; "
            f"name one flow, such as of='{names[0]}'"
        )


def _mean(record: Record, contents: _Contents, name: str) -> float:
    mean = contents.about(name).mean_value
    if mean is None:
        raise MetricError(f"netperf did not finish: Flent's series '{name}' has no 'MEAN_VALUE'{_reason(record)}")
    return mean


def _reason(record: Record) -> str:
    """Return ': ' and the reason, from Flent's log, for the failure of Flent or one of its programs. Default: ''."""
    if outputs.FLENT_LOG not in record.outputs:
        return ""
    log = record.text(outputs.FLENT_LOG)
    quoted = _QUOTED.search(log)
    return f": {quoted[1] if quoted else outputs.sentence('flent', log)}"
