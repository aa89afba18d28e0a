"""Read link traces: Mahimahi's format, and columns with times and rates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from lab.errors import InputError
from lab.units import Duration, Rate

TIMES: Mapping[str, int] = {"s": 10**9, "ms": 10**6, "us": 10**3}
RATES: Mapping[str, int] = {"Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1, "MB/s": 8 * 10**6, "kB/s": 8000, "B/s": 8}
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,2})?", re.ASCII)
_BETWEEN = re.compile(r"[\s,;]+")


def looks_like(lines: list[str]) -> str:
    """Return "opportunities" for a Mahimahi trace, "columns" for times and rates, else ""."""
    said = [line.strip() for line in lines[:50] if line.strip() and not line.startswith("#")]
    if len(said) > 1 and not _is_row(said[0]) and not said[0].isdigit():
        said = said[1:]  # a line with the columns' names
    said = said[:2]  # a mistake further down is reported with its line
    if said and all(each.isascii() and each.isdigit() for each in said):
        return "opportunities"
    return "columns" if said and all(_is_row(each) for each in said) else ""


def has_columns(text: str) -> bool:
    """Return whether a trace has times and rates."""
    return looks_like(text.splitlines()) == "columns"


def unit_in_row(line: str) -> str:
    """Return a message about a row whose time or rate has a unit, else ""."""
    words = _BETWEEN.split(line.strip())[:2]
    numbers = [re.fullmatch(r"\d+(?:\.\d*)?[A-Za-zµ/]*", word) for word in words]
    if len(words) < 2 or not all(numbers) or _is_row(line):
        return ""
    what, option = ("time", "--time-unit") if not _NUMBER.fullmatch(words[0]) else ("rate", "--rate-unit")
    text = words[what == "rate"][:40]
    return f"the {what} '{text}' should be a plain number; {option} sets the unit of all {what}s"


def _is_row(line: str) -> bool:
    return len(words := _BETWEEN.split(line.strip())) >= 2 and all(_NUMBER.fullmatch(each) for each in words[:2])


def columns(lines: list[str], file: str, time_unit: str, rate_unit: str) -> str:
    """Return a trace with two columns, times and the rates from then on, as the lab's CSV with durations and rates.

    The last rate lasts as long as the one before it. Times are rounded to whole milliseconds. Raises InputError with
    the line of a mistake.
    """
    for unit, known, option in ((time_unit, TIMES, "--time-unit"), (rate_unit, RATES, "--rate-unit")):
        if unit not in known:
            raise InputError(f"{option} {unit} is unknown; use {', '.join(known)}")
    rows = list(_rows(lines, file))
    if len(rows) < 2:
        raise InputError(f"{file}:{len(lines)}: a trace needs at least two rows")
    start = rows[0][1]
    moments = [round((time - start) * TIMES[time_unit] / 10**6) for _, time, _ in rows]
    made = ["duration,rate"]
    moments.append(moments[-1] + max(moments[-1] - moments[-2], 1))
    for (line, _, number), moment, after in zip(rows, moments, moments[1:], strict=False):
        if after < moment:
            raise InputError(f"{file}:{line + 1}: this time is before the one above; the times should increase")
        if number < 0:
            raise InputError(f"{file}:{line}: a rate cannot be negative")
        rate = round(number * RATES[rate_unit])
        if rate > 10**15:
            raise InputError(f"{file}:{line}: {rate:,} bit/s is too much for a link: is --rate-unit {rate_unit} right?")
        if after > moment:
            made.append(f"{Duration((after - moment) * 10**6)},{Rate(rate)}")
    return "\n".join(made) + "\n"


def _rows(lines: list[str], file: str) -> Iterator[tuple[int, Fraction, Fraction]]:
    for number, line in enumerate(lines, 1):
        words = _BETWEEN.split(line.strip())
        if line.startswith("#") or words == [""]:
            continue
        if len(words) >= 2 and all(_NUMBER.fullmatch(each) for each in words[:2]):
            yield number, Fraction(words[0]), Fraction(words[1])
        elif number > 1:
            message = unit_in_row(line) or f"'{line.strip()[:40]}' is not a time and a rate"
            raise InputError(f"{file}:{number}: {message}")
