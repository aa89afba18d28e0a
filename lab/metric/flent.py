"""Read Flent's data files: gzipped JSON with every raw point of every series."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from lab.guest import outputs
from lab.record.record import LONGEST_TEXT, Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value

_RAMP = 0.25  # share of the load's duration in which its queue builds up
_PING = "Ping (ms) ICMP"
_QUOTED = re.compile(r"^Stdout: (.*\S)", re.MULTILINE)  # after "WARNING: Program exited non-zero."
_DAMAGED = (
    *(OSError, EOFError, zlib.error, ValueError, RecursionError),  # of the file
    *(KeyError, TypeError, AttributeError, StopIteration),  # of its contents
)


def flent_file(record: Record) -> Path:
    """Return the path of the data file that Flent left behind.

    Raises MetricError if there is no data file, or more than one.
    """
    names = [name for name in record.outputs if name.endswith(outputs.FLENT_SUFFIX)]
    if len(names) != 1:
        raise MetricError(f"Flent left {len(names)} data files; see flent.log{_reason(record)}")
    return record.path(names[0])


@measures("bit/s")
def flent_goodput() -> Measure:
    """Measure the goodput that netperf reports at the end of the transfer: Flent's MEAN_VALUE."""

    def measure(record: Record) -> Value:
        contents, load = _contents(record)
        try:
            return Value(float(contents["metadata"]["SERIES_META"][load]["MEAN_VALUE"]) * 1e6, "bit/s")
        except KeyError as error:
            raise MetricError(
                f"netperf did not finish: Flent's series '{load}' has no {error}{_reason(record)}"
            ) from error

    return measure


@measures("s")
def flent_rtt() -> Measure:
    """Measure the median ping RTT during the transfer, after its queue has built up."""

    def measure(record: Record) -> Value:
        contents, load = _contents(record)
        times = [point["t"] for point in contents["raw_values"][load]]
        first = times[0] + _RAMP * (times[-1] - times[0])
        pings = [ping["val"] for ping in contents["raw_values"].get(_PING, ()) if first <= ping["t"] <= times[-1]]
        if not pings:
            raise MetricError("Flent's ping got no answer during the transfer")
        return Value(median(pings) / 1e3, "s")

    return measure


def _unpacked(file: Path) -> bytes:
    with gzip.open(file) as packed:
        content = packed.read(LONGEST_TEXT + 1)
    if len(content) > LONGEST_TEXT:
        raise ValueError("a tiny file may unpack to more than the memory")
    return content


def _contents(record: Record) -> tuple[Any, str]:
    """Return the contents of the data file, and the name of the series that loads the path.

    Raises MetricError if Flent does not write such a file after a transfer.
    """
    file = flent_file(record)
    try:
        contents = msgspec.json.decode(_unpacked(file))
        load = next(name for name, points in contents["raw_values"].items() if name != _PING and points)
    except _DAMAGED as error:
        raise MetricError(f"{file.name} is not what Flent writes after a transfer{_reason(record)}") from error
    return contents, load


def _reason(record: Record) -> str:
    """Return ': ' and the reason, from Flent's log, for the failure of Flent or one of its programs. Default: ''."""
    if outputs.FLENT_LOG not in record.outputs:
        return ""
    log = record.text(outputs.FLENT_LOG)
    quoted = _QUOTED.search(log)
    return f": {quoted[1] if quoted else outputs.sentence('flent', log)}"
