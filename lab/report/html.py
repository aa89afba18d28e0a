"""Make pieces of a page: what a notebook's cell shows. Texts are escaped here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from lab.errors import InputError
from lab.prediction import Prediction
from lab.units import SCALES, Value
from lab.verdict import Kind, Result

__all__ = [
    "DASH",
    "Html",
    "allowed",
    "badge",
    "basis",
    "bound_holds",
    "cells",
    "cited",
    "claimed",
    "code",
    "commit",
    "counted",
    "figure",
    "folded",
    "foreseen",
    "graded",
    "heading",
    "interval",
    "measured",
    "model_error",
    "model_errors",
    "off_by",
    "percent",
    "predicted",
    "predicted_briefly",
    "prose",
    "quoted",
    "rowed",
    "scrolled",
    "sign",
    "table",
    "typeset",
    "witness",
]

DASH = "—"  # where there is no figure

_COMMITS = "https://git.kernel.org/torvalds/c/"
_SIGNS_OF_PRINT: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?<=\d )us\b"), "µs"),
    (re.compile(r"\b(\d+(?:\.\d+)?)e-0*(\d+)\b"), lambda found: _small(found[1], found[2])),
    (re.compile(r"(?<=[\w)]) x (?=[\w(])"), " × "),
    (re.compile(r"(?<=RFC )(\d{3,4}),? (?:section )?(\d{1,2}(?:\.\d+)*)(?=[^\d]|$)"), r"\1 §\2"),
)
# In escaped text: `code`, and the space between a figure and its unit, or between the sign of a bound and its figure.
_MARKS = re.compile(
    r"`(?P<code>[^`]+)`|(?<=\d) (?=(?:%|[mnµ]?s|min|h|[kMG]?B|[KM]iB|[kMG]?bit/s)(?!\w))"
    r"|(?:(?<=[≤≥])|(?<=&[gl]t;)) (?=\d)"
)
_ROW = ' role="row"'
# What a tolerance calls itself -> what a page says, next to a figure that has its sign.
_ALLOWED = {"exactly": "exact", "at least that": "a bound", "at most that": "a bound"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_GROUPED = 10_000  # from here on digits are in groups of three, of counts from 1,000 on
_TOO_SMALL = ("bit/s", "ns")  # less than the next larger unit is written with an exponent
# A sign next to the colour, for those who do not see it.
_SIGNS: dict[Kind, str] = {
    "reproduced": "✓",
    "partly": "◐",
    "not reproduced": "✗",
    "not testable as stated": "?",
    "inconclusive": "≈",
    "invalid": "!",
    "skipped": DASH,
}


class Html:
    """A notebook shows this HTML as it is."""

    def __init__(self, *parts: str) -> None:
        self.text = "\n".join(parts)

    def save(self, path: Path | str) -> None:
        """Always raise InputError: only a `Picture` can be saved."""
        raise InputError(f"there is no picture to save as {path}: {self!r}")

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return re.sub(r"<[^>]*>|\s+", " ", self.text).strip()[:80]


def badge(kind: Kind) -> str:
    """Show a verdict as colour, sign and word."""
    words = f"{_SIGNS[kind]}\N{NO-BREAK SPACE}{kind}"  # the sign never stands alone in a line
    return f'<span class="verdict {kind.replace(" ", "-")}">{words}</span>'


def sign(kind: Kind) -> str:
    """Show a verdict as its sign alone, with the word for those who point at it or hear it."""
    name = kind.replace(" ", "-")
    return f'<span class="sign {name}" role="img" aria-label="{kind}" title="{kind}">{_SIGNS[kind]}</span>'


def heading(anchor: str, text: str, short: str = "") -> str:
    """Return the heading of a section, with a link to itself; lists of contents call it `short`."""
    name = escape(short or re.sub(r"<[^>]*>", "", text))
    here = f'<a class="here" href="#{escape(anchor)}" aria-label="Link to {name}">¶</a>'
    return f'<h2 id="{escape(anchor)}" data-short="{name}">{text}\N{NO-BREAK SPACE}{here}</h2>'


def scrolled(inner: str, name: str) -> str:
    """Let what is too wide for a narrow screen be moved sideways, by keys, too."""
    return f'<div class="scroll" role="region" aria-label="{escape(name)}" tabindex="0">{inner}</div>'


def graded(grade: str, terms: str = "") -> str:
    """Show how far an explanation goes: demonstrated, consistent, refutes or open, and what was fitted or assumed."""
    return f'<span class="verdict explains">{escape(grade)}</span>' + (f" ({prose(terms)})" if terms else "")


def witness(result: Result) -> str:
    """Show what became of an arm that explains: its grade, and whether its figure bears it out."""
    assert result.explains
    fails = {None: "", True: "", False: ", not borne out"}[result.bears_out]
    return f'<span class="verdict explains">explains: {result.explains.grade}{fails}</span>'


def code(text: str) -> str:
    """Mark text as code."""
    return f"<code>{escape(text)}</code>"


def prose(text: str) -> str:
    """Escape text, mark up the `code` in it, and keep figures and their units in one line."""
    return _MARKS.sub(_marked, escape(typeset(text), quote=False))


def _marked(found: re.Match[str]) -> str:
    return f"<code>{found['code']}</code>" if found["code"] else "\N{NO-BREAK SPACE}"


def _small(digits: str, exponent: str) -> str:
    """Write 1e-09 as 10⁻⁹, and 2e-09 as 2 × 10⁻⁹."""
    power = f"10⁻{exponent.translate(_RAISED)}"
    return power if digits == "1" else f"{digits} × {power}"


def typeset(text: str) -> str:
    """Return the text with the signs of print: 40 µs, 3 × 4, RFC 7323 §5."""
    for written, printed in _SIGNS_OF_PRINT:
        text = written.sub(printed, text)
    return text


def cited(text: str) -> str:
    """Mark up text as `prose` does, with links to the RFCs and the kernel commits that it names."""
    linked = re.sub(r"RFC (\d+)", r'<a href="https://www.rfc-editor.org/rfc/rfc\1">RFC \1</a>', prose(text))
    return re.sub(r"commit ([0-9a-f]{12})", lambda found: f"commit {commit(found[1])}", linked)


def commit(digits: str) -> str:
    """Return a link to a commit of the kernel, by the first digits of its hash."""
    return f'<a href="{_COMMITS}{escape(digits)}"><code>{escape(digits)}</code></a>'


def figure(value: Value | None) -> str:
    """Format a figure with four digits, or a count or size with all of them; a dash where there is none."""
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
    """Write a number with four digits; a large one has zeros in place of the others, and no exponent."""
    return f"{float(f'{number:.4g}'):,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def interval(value: Value | None) -> str:
    """Format a figure's bounds with their true coverage, as '1.02 to 1.04 (75 %)', in the figure's unit if in no other.

    Return "" where it has no bounds.
    """
    if value is None or value.low is None or value.high is None:
        return ""
    texts = [figure(Value(number, value.unit)) for number in (value.low, value.high, value.number)]
    if len({text.partition(" ")[2] for text in texts}) == 1:
        texts = [text.partition(" ")[0] for text in texts]
    return f"{texts[0]} to {texts[1]}" + (f" ({100 * value.coverage:.3g} %)" if value.coverage else "")


def measured(result: Result) -> str:
    """Show what was measured, and below it the interval with its coverage and how many of several repeats count."""
    bounds = interval(result.measured).replace(" %)", "\N{NO-BREAK SPACE}%)")
    below = ", ".join(filter(None, [bounds, counted(result) if result.repeats > 1 else ""]))
    return f"<strong>{figure(result.measured)}</strong>" + (f"<br><small>{below}</small>" if below else "")


def counted(result: Result) -> str:
    """Say how many repeats count, of how many that were asked for, as '5/6'; "" when none was run."""
    return f"{result.valid}/{result.repeats}" if result.repeats else ""


def quoted(value: Value | None) -> str:
    """Format an article's figure with the digits that it has there; a dash where there is none."""
    return figure(value) if value is None or value.unit == "1" else typeset(str(value))


def claimed(result: Result) -> str:
    """Format a claim's figure: as it is where the article prints it, set apart where that is only implied."""
    if result.claimed is None:
        return DASH
    said = result.bound + quoted(result.claimed.value)
    title = escape(result.claimed.source)
    kind = "implied" if result.implied else "quoted"
    return f'<span class="{kind}" title="{title}">{said}{" (implied)" if result.implied else ""}</span>'


def allowed(tolerance: object) -> str:
    """Say in a few words, as HTML, how far a figure may lie from the claimed one."""
    said = str(tolerance)
    return _ALLOWED.get(said, prose(said))


def percent(ratio: float | None) -> str:
    """Format a ratio in percent, with its sign; a dash where there is none."""
    if ratio is None:
        return DASH
    if ratio == 0:
        return "0 %"
    return f"{100 * ratio:+.2f} %".replace("-", "−") if abs(ratio) >= 0.00005 else "&lt; 0.01 %"


def off_by(result: Result) -> str:
    """Format the model's error in percent.

    Next to a prediction of zero any figure is 100 % off: there the difference is shown. What a predicted bound leaves
    room for is no error.
    """
    predicted, measured = result.predicted, result.measured
    if bound_holds(result):
        return "holds"
    if predicted and measured and measured.number and not predicted.number:
        return figure(Value(-measured.number, measured.unit)).replace("-", "−")
    return percent(result.model_error)


def model_error(result: Result) -> str:
    """Format the model's error, marked where it is more than it may be."""
    said = off_by(result)
    if not result.model_is_off:
        return said
    return f'<span class="off" title="declared accuracy: {escape(str(result.accuracy))}">{said} !</span>'


def model_errors(result: Result) -> str:
    """Format the model's error, and below it that of the law beside a simulation."""
    return model_error(result) + (_beside(percent(result.law_error)) if result.law else "")


def foreseen(result: Result) -> str:
    """Format the predicted figure alone, with the sign of a bound where it is one."""
    return (_predicted_bound(result) if result.predicted else "") + figure(result.predicted)


def _predicted_bound(result: Result) -> str:
    """Return the sign before a predicted figure that is a bound: '≤ '; "" where it is none."""
    return result.accuracy.sign if result.accuracy else ""


def bound_holds(result: Result) -> bool:
    """Return whether the prediction is a bound, and what was measured is within it."""
    known = bool(result.predicted and result.measured)
    return known and bool(_predicted_bound(result)) and not result.model_is_off


def predicted(result: Result) -> str:
    """Format the predicted figure, and below it that of the law beside a simulation; where there is none, say why."""
    why, no_law = (prose(each) for each in (result.why_not_predicted, result.why_no_law))
    law = _law(result) or _beside(no_law and f"no law: {no_law}", "why")
    return foreseen(result) + _beside(why, "why") + _late(result) + law


def predicted_briefly(result: Result) -> str:
    """Format the predicted figure and its law's, with the reasons for what lacks only for those who point at it."""
    said = foreseen(result)
    if result.why_not_predicted:
        said = f'<span title="{escape(result.why_not_predicted)}">{said}</span>'
    return said + _late(result) + _law(result)


def _late(result: Result) -> str:
    return _beside(f"after the fact, on {result.predicted_at[:10]}" if result.after_the_fact else "", "late")


def _law(result: Result) -> str:
    return _beside(f"law: {figure(result.law)}") if result.law else ""


def basis(prediction: Prediction) -> str:
    """Say what a prediction is called, of what kind it is, and what it rests on."""
    said = f"{code(prediction.name)}, {prediction.kind}: {cited(prediction.basis)}"
    no_law = prediction.kind == "simulation" and prediction.law is None
    return f"{said}; no law: {prose(prediction.because)}" if no_law else said


def _beside(said: str, kind: str = "") -> str:
    return f'<div class="{f"beside {kind}".strip()}">{said}</div>' if said else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Make a table of cells that are HTML already; the first cell of a row is its head.

    On a narrow screen each row is a block, its cells labelled by `head`. The roles keep it a table for who hears it.
    """
    return rowed(head, (f"<tr{_ROW}>{cells(head, row)}</tr>" for row in rows), kind)


def cells(head: Sequence[str], row: Sequence[str]) -> str:
    """Return the cells of one row: its head, then what stands below each name of `head`."""
    first, *others = zip(head, row, strict=True)
    body = "".join(f'<td role="cell" data-label="{escape(name)}">{cell}</td>' for name, cell in others)
    return f'<th role="rowheader" scope="row" data-label="{escape(first[0])}">{first[1]}</th>{body}'


def rowed(head: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """Make a table of rows that are HTML already."""
    top = "".join(f'<th role="columnheader" scope="col">{escape(name)}</th>' for name in head)
    body = "\n".join(rows)
    return (
        f'<table role="table" class="{f"cards {kind}".strip()}"><thead role="rowgroup"><tr{_ROW}>{top}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{body}\n</tbody></table>'
    )


def folded(summary: str, inner: str) -> str:
    """Hide `inner` until a click unfolds it."""
    return f"<details><summary>{escape(summary)}</summary>\n{inner}\n</details>"
