"""Write figures, shares and counts as text, in the same form for pages and the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import inf

from lab.units import SCALES, Value
from lab.verdict import NO_VERDICT, Kind, Result, depends

DASH = "—"  # stands for a missing figure
_SIGNS_OF_PRINT: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?<=\d )us\b"), "µs"),
    (re.compile(r"\b(\d+(?:\.\d+)?)e-0*(\d+)\b"), lambda found: _small(found[1], found[2])),
    (re.compile(r"(?<=[\w)]) x (?=[\w(])"), " × "),
    (re.compile(r"(?<=RFC )(\d{3,4}),? (?:section )?(\d{1,2}(?:\.\d+)*)(?=[^\d]|$)"), r"\1 §\2"),
)
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_GROUPED = 10_000  # from this number on, digits are in groups of three; for counts from 1,000 on
_TOO_SMALL = ("bit/s", "ns")  # smaller values than the next larger unit get an exponent


def _small(digits: str, exponent: str) -> str:
    """Return 1e-09 as 10⁻⁹, and 2e-09 as 2 × 10⁻⁹."""
    power = f"10⁻{exponent.translate(_RAISED)}"
    return power if digits == "1" else f"{digits} × {power}"


def typeset(text: str) -> str:
    """Return the text with typographic signs: 40 µs, 3 × 4, RFC 7323 §5."""
    for written, printed in _SIGNS_OF_PRINT:
        text = written.sub(printed, text)
    return text


def figure(value: Value | None) -> str:
    """Return a figure with four digits, or a count or size with all digits, or a dash for None."""
    if value is None:
        return DASH
    number, unit = value.number, value.unit
    if unit in ("1", "B"):
        text = f"{number:,.0f}" if float(number).is_integer() else _four_digits(number)
        return text if unit == "1" else f"{text} B"
    for name, scale in SCALES[unit].items():
        if abs(number) >= scale and name not in _TOO_SMALL:
            scaled = number / scale
            text = f"{scaled:#.4g}".rstrip(".") if abs(scaled) < _GROUPED else _four_digits(scaled)
            return typeset(f"{text} {name}")
    return f"{number:.4g} {unit}"


def _four_digits(number: float) -> str:
    """Return a number with four digits. A large number has zeros instead of further digits, and no exponent."""
    return f"{float(f'{number:.4g}'):,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def percents(shares: Iterable[float], whole: int = 100) -> list[int]:
    """Return shares of one in per cent, so that they add up to `whole`: 1000 gives tenths of a per cent.

    Each is rounded down, and those with the largest remainders get the rest. Returns nothing for no shares.
    """
    exact = [whole * each for each in shares]
    found = [int(each) for each in exact]
    largest = sorted(range(len(exact)), key=lambda at: found[at] - exact[at])
    for at in largest[: whole - sum(found)]:
        found[at] += 1
    return found


def answer(result: Result, value: Value | None) -> str:
    """Return a figure of the result. Of an event in one trial, which happened or not, the text is 'yes' or 'no'. A
    ratio of two arms is a factor, like '0.5086×'.
    """
    if value is not None and is_yes_or_no(result) and value.number in (0, 1):
        return "yes" if value.number else "no"
    return factor(result, figure(value))


def factor(result: Result, text: str) -> str:
    """Return a figure's text, with the sign of a factor if the figure is a ratio of two arms."""
    return f"{text}×" if result.is_ratio and text != DASH else text


def is_yes_or_no(result: Result) -> bool:
    """Return whether the result is about an event in one trial, which happened or not."""
    return result.is_event and len(result.sample.figures) < 2


def yes_or_no(result: Result) -> str:
    """Return whether the event happened, like 'measured: no; the article implies: no'."""
    said = f"measured: {answer(result, result.measured)}"
    if result.claimed is None:
        return said
    verb = "implies" if result.implied else "reports"
    return f"{said}; the article {verb}: {answer(result, result.claimed.value)}"


def interval(value: Value | None) -> str:
    """Return a figure's bounds with their true coverage, like '1.02 to 1.04 (75 %)', with a unit if the units differ.

    Without an upper bound, the text is like '24.00 s or more'. Return "" without bounds.
    """
    if value is None or value.low is None or value.high is None or value.low == value.high:
        return ""
    coverage = f" ({100 * value.coverage:.3g} %)" if value.coverage else ""
    if value.high == inf:
        return f"{figure(Value(value.low, value.unit))} or more{coverage}"
    texts = [figure(Value(number, value.unit)) for number in (value.low, value.high, value.number)]
    if len({text.partition(" ")[2] for text in texts}) == 1:
        texts = [text.partition(" ")[0] for text in texts]
    return f"{texts[0]} to {texts[1]}{coverage}"


def counted(result: Result) -> str:
    """Return the number of valid repeats among the requested ones, like '5/6', or "" if no repeat ran."""
    return f"{result.valid}/{result.repeats}" if result.repeats else ""


def trials(result: Result) -> str:
    """Return the number of trials of a figure, like '6 trials' or '5 of 6 trials count', or "" for a single trial."""
    if result.repeats < 2:
        return ""
    return (
        f"{result.repeats} trials"
        if result.valid == result.repeats
        else f"{result.valid} of {result.repeats} trials count"
    )


def summed(result: Result) -> str:
    """Return the figure of all trials, with its statistic and their number, like 'mean 9.4 Mbit/s, n = 6'."""
    sample = result.sample
    how = "share" if sample.statistic == "event" else sample.statistic
    return f"{how} {answer(result, result.measured)}, n = {len(sample.figures)}"


def quoted(value: Value | None) -> str:
    """Return an article's figure with the article's own digits, or a dash for None."""
    return figure(value) if value is None or value.unit == "1" else typeset(str(value))


def claimed_briefly(result: Result) -> str:
    """Return the claim's figure with the sign of a bound, or a dash without a figure."""
    if result.claimed is None:
        return DASH
    said = answer(result, result.claimed.value)
    return said if said in ("yes", "no") else result.bound + factor(result, quoted(result.claimed.value))


def percent(ratio: float | None) -> str:
    """Return a ratio as a percentage with its sign, or as a factor from 100 % on, or a dash for None."""
    if ratio is None:
        return DASH
    if abs(ratio) >= 1:
        return f"{'×' if ratio > 0 else '÷'} {1 + abs(ratio):.3g}"
    if ratio == 0:
        return "0 %"
    return f"{100 * ratio:+.2f} %".replace("-", "−") if abs(ratio) >= 0.00005 else "< 0.01 %"


def off_by(result: Result) -> str:
    """Return the model's error as a percentage.

    For a prediction of zero, any figure would be 100 % off, so the function returns the difference instead. A figure
    within a predicted bound is not an error.
    """
    predicted, measured = result.predicted, result.measured
    if bound_holds(result):
        return "holds"
    if predicted and measured and measured.number and not predicted.number:
        return figure(Value(-measured.number, measured.unit)).replace("-", "−")
    return percent(result.model_error)


def foreseen(result: Result) -> str:
    """Return the predicted figure or its interval, with a sign if the figure is a bound."""
    value = result.predicted
    if value is not None and value.low != value.high:
        return " to ".join(factor(result, figure(Value(end, value.unit))) for end in value.bounds)
    return (_predicted_bound(result) if value else "") + factor(result, figure(value))


def foreseen_answer(result: Result) -> str:
    """Return the predicted figure like `foreseen`, or like `answer` if the result is about an event."""
    return answer(result, result.predicted) if result.is_event else foreseen(result)


def _predicted_bound(result: Result) -> str:
    """Return the sign before a predicted bound, like '≤ ', or "" for other predictions."""
    return result.accuracy.sign if result.accuracy else ""


def bound_holds(result: Result) -> bool:
    """Return whether the prediction is a bound and the measured figure is within it."""
    known = bool(result.predicted and result.measured)
    return known and bool(_predicted_bound(result)) and result.standing == "holds"


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text, like '1-4, 6'."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0])]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def plural(number: int, what: str) -> str:
    """Return a number with its noun: '1 claim', '2 claims'."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def dependence(cause: str, decided: str, claims: Iterable[Iterable[Kind]]) -> str:
    """Return whether verdicts depend on a cause, like 'the kernel'.

    `decided` names the claims whose verdicts do, or is "". `claims` has each claim's verdicts, one for each kernel.
    """
    found = [{*kinds} for kinds in claims]
    unknown = sum(not depends(kinds) and bool(kinds & NO_VERDICT) for kinds in found)
    said = [decided or f"no verdict depends on {cause}"] if decided or unknown < len(found) else []
    if unknown:
        lack = "lacks" if unknown == 1 else "lack"
        said.append(f"cannot tell for {plural(unknown, 'claim')}, which {lack} a verdict")
        said.append("`lab run CLAIM` shows why")
    return "; ".join(said)


def listed(names: Iterable[str]) -> str:
    """Return names as text, each once, like 'a, b', or 'none' without names."""
    return ", ".join(dict.fromkeys(names)) or "none"
