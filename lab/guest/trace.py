"""Read a trace, a file with the times at which a link can carry a frame.

Mahimahi's format has one line for each opportunity to carry 1500 bytes: the millisecond of the opportunity, counted
from the start. CSV has the columns duration and rate, such as `500 ms,12 Mbit/s`, and allows a rate of zero. A trace
repeats after its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from lab.guest.network import Trace
from lab.units import Duration, Rate, Size, UnitError

# The size on the wire of 1500 bytes of IP, an opportunity of Mahimahi's: 14 header, 4 FCS, 8 preamble, 12 gap.
FRAME = Size(1538)
LONGEST = Duration.of("60 min")
HEADER = ["duration", "rate"]


def read(name: str, folder: Path) -> Trace:
    """Return the trace from the file `name`, next to the topology in `folder`.

    Raises ValueError with the file and the line.
    """
    path = folder / name
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f"the trace {name} cannot be read: {reason}") from error
    counts = _csv(name, lines) if path.suffix == ".csv" else _mahimahi(name, lines)
    if not any(counts):
        raise ValueError(f"{name}:{max(len(lines), 1)}: the trace never carries a frame")
    return Trace(path.name, encoded(counts))


def encoded(counts: Iterable[int]) -> str:
    """Return the number of opportunities in each millisecond, in the form of `Trace.counts`."""
    runs = ((count, len(list(same))) for count, same in groupby(counts))
    return " ".join(str(count) if times == 1 else f"{count}*{times}" for count, times in runs)


def decoded(trace: Trace) -> Iterator[tuple[int, int]]:
    """Yield (ms, opportunities) for each millisecond of a period with any, and finally (the period's length, 0)."""
    at = 0
    for run in trace.counts.split():
        count, _, times = run.partition("*")
        for _ in range(int(times or 1)):
            if int(count):
                yield at, int(count)
            at += 1
    yield at - 1, 0


def _mahimahi(name: str, lines: list[str]) -> list[int]:
    """Return the opportunities in each millisecond, including the last one, at which the trace begins again."""
    times: list[int] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"{name}:{number}: '{text[:40]}' is not a time in whole milliseconds")
        if times and int(text) < times[-1]:
            raise ValueError(f"{name}:{number}: {text} ms is before the {times[-1]} ms of the line above")
        if int(text) * 10**6 > LONGEST.ns:
            raise ValueError(f"{name}:{number}: {text} ms is more than {LONGEST}, the longest trace")
        times.append(int(text))
    if not times or not times[-1]:
        raise ValueError(f"{name}:{max(len(lines), 1)}: the trace has no length: its last time is its period")
    counts = [0] * (times[-1] + 1)
    for time in times:
        counts[time] += 1
    return counts


def _csv(name: str, lines: list[str]) -> list[int]:
    """Return the opportunities. Each is in the first millisecond by which the rate has added up to a whole frame."""
    if not lines or [word.strip() for word in lines[0].split(",")] != HEADER:
        raise ValueError(f"{name}:1: the first line should be '{','.join(HEADER)}'")
    counts = [0]
    made = 0  # bits times 10^9 that were not carried yet
    ends, at = 0, 0  # in ns: the end of the row, and the last whole millisecond
    for number, line in enumerate(lines[1:], 2):
        words = [word.strip() for word in line.split(",")]
        try:
            duration, rate = Duration.of(words[0]), Rate.of(",".join(words[1:]))
        except UnitError as error:
            raise ValueError(f"{name}:{number}: {error}") from None
        if not duration:
            raise ValueError(f"{name}:{number}: a row lasts for some time")
        starts, ends = ends, ends + duration.ns
        if ends > LONGEST.ns:
            raise ValueError(f"{name}:{number}: the trace is longer than {LONGEST}")
        while at + 10**6 <= ends:
            at += 10**6
            count, made = divmod(made + rate.bps * (at - max(starts, at - 10**6)), 8 * 10**9 * FRAME.bytes)
            counts.append(count)
        made += rate.bps * (ends - max(starts, at))
    if ends % 10**6 or not ends:
        raise ValueError(f"{name}:{max(len(lines), 1)}: the trace should last for whole milliseconds")
    return counts
