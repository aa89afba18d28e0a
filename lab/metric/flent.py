"""Read Flent's data files: gzipped JSON with every raw point of every series."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from lab import outputs
from lab.metric.flow import MetricError
from lab.record.record import Record
from lab.units import Value

__all__ = ["flent_file", "flent_goodput", "flent_rtt"]

_RAMP = 0.25  # of the load's duration: until its queue has built up
_PING = "Ping (ms) ICMP"
_DAMAGED = (
    *(OSError, EOFError, zlib.error, msgspec.DecodeError, UnicodeDecodeError, RecursionError),  # of the file
    *(KeyError, TypeError, AttributeError, StopIteration),  # of what it says
)


def flent_file(record: Record) -> Path:
    """Return the path of the data file that Flent left.

    Raises MetricError when there is none, or more than one.
    """
    names = [name for name in record.outputs if name.endswith(outputs.FLENT_SUFFIX)]
    if len(names) != 1:
        raise MetricError(f"Flent left {len(names)} data files: see flent.log")
    return record.path(names[0])


def flent_goodput() -> Callable[[Record], Value]:
    """Measure the goodput that netperf reports at the end of the whole transfer: Flent's MEAN_VALUE."""

    def measure(record: Record) -> Value:
        contents, load = _contents(record)
        try:
            return Value(float(contents["metadata"]["SERIES_META"][load]["MEAN_VALUE"]) * 1e6, "bit/s")
        except KeyError as error:
            raise MetricError(f"netperf did not finish: Flent's series '{load}' has no {error}") from error

    return measure


def flent_rtt() -> Callable[[Record], Value]:
    """Measure the median ping RTT while the transfer runs, once its queue has built up."""

    def measure(record: Record) -> Value:
        contents, load = _contents(record)
        times = [point["t"] for point in contents["raw_values"][load]]
        first = times[0] + _RAMP * (times[-1] - times[0])
        pings = [ping["val"] for ping in contents["raw_values"].get(_PING, ()) if first <= ping["t"] <= times[-1]]
        if not pings:
            raise MetricError("Flent's ping got no answer during the transfer")
        return Value(median(pings) / 1e3, "s")

    return measure


def _contents(record: Record) -> tuple[Any, str]:
    """Return the file's contents, and the name of the series that loads the path.

    Raises MetricError when the file is not what Flent writes after a transfer.
    """
    file = flent_file(record)
    try:
        contents = msgspec.json.decode(gzip.decompress(file.read_bytes()))
        load = next(name for name, points in contents["raw_values"].items() if name != _PING and points)
    except _DAMAGED as error:
        raise MetricError(f"{file.name} is not what Flent writes after a transfer") from error
    return contents, load
