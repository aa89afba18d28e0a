"""Make pieces of a page: what a notebook's cell shows. Texts are escaped here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from lab.errors import InputError
from lab.prediction import Prediction
from lab.units import SCALES, Value
from lab.verdict import Kind, Result

__all__ = [
    "DASH",
    "Html",
    "badge",
    "basis",
    "claimed",
    "code",
    "counted",
    "figure",
    "folded",
    "graded",
    "interval",
    "measured",
    "model_error",
    "model_errors",
    "percent",
    "predicted",
    "prose",
    "quoted",
    "table",
    "witness",
]

DASH = "—"  # where there is no figure

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
    return f'<span class="verdict {kind.replace(" ", "-")}">{_SIGNS[kind]} {kind}</span>'


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
    """Escape text and mark up the `code` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def figure(value: Value | None) -> str:
    """Format a figure with four digits, or a count or size with all of them; a dash where there is none."""
    if value is None:
        return DASH
    number, unit = value.number, value.unit
    if unit in ("1", "B"):
        text = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.4g}"
        return text if unit == "1" else f"{text} B"
    for name, scale in SCALES[unit].items():
        if abs(number) >= scale and name not in _TOO_SMALL:
            return f"{number / scale:#.4g}".rstrip(".") + f" {name}"
    return f"{number:.4g} {unit}"


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
    """Show what was measured, and below it the interval with its coverage and how many repeats count, of how many."""
    below = ", ".join(filter(None, [interval(result.measured), counted(result)]))
    return f"<strong>{figure(result.measured)}</strong>" + (f"<br><small>{below}</small>" if below else "")


def counted(result: Result) -> str:
    """Say how many repeats count, of how many that were asked for, as '5/6'; "" when none was run."""
    return f"{result.valid}/{result.repeats}" if result.repeats else ""


def quoted(value: Value | None) -> str:
    """Format an article's figure with the digits that it has there; a dash where there is none."""
    return figure(value) if value is None or value.unit == "1" else str(value)


def claimed(result: Result) -> str:
    """Format a claim's figure: as it is where the article prints it, set apart where that is only implied."""
    if result.claimed is None:
        return DASH
    said = result.bound + quoted(result.claimed.value)
    title = escape(result.claimed.source)
    kind = "implied" if result.implied else "quoted"
    return f'<span class="{kind}" title="{title}">{said}{" (implied)" if result.implied else ""}</span>'


def percent(ratio: float | None) -> str:
    """Format a ratio in percent, with its sign; a dash where there is none."""
    if ratio is None:
        return DASH
    if ratio == 0:
        return "0 %"
    return f"{100 * ratio:+.2f} %" if abs(ratio) >= 0.00005 else "&lt; 0.01 %"


def model_error(result: Result) -> str:
    """Format the model's error in percent, marked where it is more than it may be."""
    said = percent(result.model_error)
    if not result.model_is_off:
        return said
    return f'<span class="off" title="declared accuracy: {escape(str(result.accuracy))}">{said} !</span>'


def model_errors(result: Result) -> str:
    """Format the model's error, and below it that of the law beside a simulation."""
    return model_error(result) + (_beside(percent(result.law_error)) if result.law else "")


def predicted(result: Result) -> str:
    """Format the predicted figure, and below it that of the law beside a simulation; where there is none, say why."""
    why, no_law = (prose(each) for each in (result.why_not_predicted, result.why_no_law))
    late = _beside(f"after the fact, on {result.predicted_at[:10]}" if result.after_the_fact else "")
    law = _beside(f"law: {figure(result.law)}") if result.law else _beside(no_law and f"no law: {no_law}", "why")
    return figure(result.predicted) + _beside(why, "why") + late + law


def basis(prediction: Prediction) -> str:
    """Say what a prediction is called, of what kind it is, and what it rests on."""
    said = f"{code(prediction.name)}, {prediction.kind}: {prose(prediction.basis)}"
    no_law = prediction.kind == "simulation" and prediction.law is None
    return f"{said}; no law: {prose(prediction.because)}" if no_law else said


def _beside(said: str, kind: str = "") -> str:
    return f'<div class="{f"beside {kind}".strip()}">{said}</div>' if said else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Make a table of cells that are HTML already. On a narrow screen each row is a block, its cells labelled by
    `head`.
    """
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "\n".join(
        "<tr>"
        + "".join(f'<td data-label="{escape(name)}">{cell}</td>' for name, cell in zip(head, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'


def folded(summary: str, inner: str) -> str:
    """Hide `inner` until a click unfolds it."""
    return f"<details><summary>{escape(summary)}</summary>\n{inner}\n</details>"
