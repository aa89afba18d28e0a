"""Pieces of a page: what a notebook's cell shows. Texts are escaped here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from lab.errors import InputError
from lab.units import SCALES, Value
from lab.verdict import Kind, Result

__all__ = ["DASH", "Html", "badge", "code", "figure", "folded", "model_error", "percent", "prose", "quoted", "table"]

DASH = "—"  # where there is no figure

# A sign beside the colour, for those who do not see it.
_TOO_SMALL = ("bit/s", "ns")  # less than the next larger unit is written with an exponent
_SIGNS: dict[Kind, str] = {
    "reproduced": "✓",
    "not reproduced": "✗",
    "inconclusive": "≈",
    "invalid": "!",
    "skipped": DASH,
}


class Html:
    """HTML that a notebook shows as it is."""

    def __init__(self, *parts: str) -> None:
        self.text = "\n".join(parts)

    def save(self, path: Path | str) -> None:
        """Raises InputError: this is no picture, and says why. A picture is saved."""
        raise InputError(f"there is no picture to save as {path}: {self!r}")

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return re.sub(r"<[^>]*>|\s+", " ", self.text).strip()[:80]


def badge(kind: Kind) -> str:
    """A verdict as colour, sign and word."""
    return f'<span class="verdict {kind.replace(" ", "-")}">{_SIGNS[kind]} {kind}</span>'


def code(text: str) -> str:
    """Text as code."""
    return f"<code>{escape(text)}</code>"


def prose(text: str) -> str:
    """Text with `code` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def figure(value: Value | None) -> str:
    """A figure with four digits or, a count or a size, all of them; a dash where there is none."""
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


def quoted(value: Value | None) -> str:
    """A figure of an article, with the digits that it has there; a dash where there is none."""
    return figure(value) if value is None or value.unit == "1" else str(value)


def percent(ratio: float | None) -> str:
    """A ratio in percent, with its sign; a dash where there is none."""
    if ratio is None:
        return DASH
    if ratio == 0:
        return "0 %"
    return f"{100 * ratio:+.2f} %" if abs(ratio) >= 0.00005 else "&lt; 0.01 %"


def model_error(result: Result) -> str:
    """The model's error in percent, marked where it is more than it may be."""
    said = percent(result.model_error)
    if not result.model_is_off:
        return said
    return f'<span class="off" title="should hold {escape(str(result.accuracy))}">{said} !</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table of cells that are HTML already. On a narrow screen each row is a block, its cells labelled by `head`."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "\n".join(
        "<tr>"
        + "".join(f'<td data-label="{escape(name)}">{cell}</td>' for name, cell in zip(head, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'


def folded(summary: str, inner: str) -> str:
    """What a click unfolds."""
    return f"<details><summary>{escape(summary)}</summary>\n{inner}\n</details>"
