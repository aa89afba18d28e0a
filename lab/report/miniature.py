"""Draw an article's claims as a small picture for the index: one dot per claim, measured over claimed figure."""

from __future__ import annotations

from collections import Counter
from html import escape

from lab.report.article import Article
from lab.report.claim import Claim
from lab.report.dots import end_of_axis, places

_WIDTH, _RADIUS = 320, 6
_STEP = 2 * _RADIUS + 2  # between dots that would cover each other
_AXIS = 0.82  # the share of the width that has the axis; claims without a figure stand right of it


def miniature(article: Article) -> str:
    """Return the picture as inline SVG, or "" if no claim was run.

    Dots have the colours of verdicts, and are rings if the claim was not reproduced. They stand on an axis whose middle
    is the claimed figure, and pile up. Claims without a figure are squares right of the axis.
    """
    shown = [claim for claim in article if claim.verdict.kind != "skipped"]
    if not shown:
        return ""
    found, end = places(shown), end_of_axis(shown)
    columns = [_column(found.get(claim.name)) for claim in shown]
    height = _STEP * max(Counter(columns).values()) + 4
    marks, piled = [], Counter[float]()
    for claim, column in zip(shown, columns, strict=True):
        y = height - _STEP * piled[column] - _STEP / 2
        piled[column] += 1
        marks.append(_mark(claim, column, y, claim.name in found))
    middle = _AXIS * _WIDTH / 2
    said = "; ".join(f"{claim.short}: {claim.verdict.kind}" for claim in shown)
    return (
        f'<svg class="miniature" viewBox="0 0 {_WIDTH} {height + 16}" role="img" aria-label="{escape(said)}">'
        f'<line class="axis-line" x1="0" x2="{_AXIS * _WIDTH:g}" y1="{height}" y2="{height}"/>'
        f'<line class="axis-line" x1="{middle:g}" x2="{middle:g}" y1="0" y2="{height}"/>'
        f"{''.join(marks)}"
        f'<text x="0" y="{height + 13}">÷ {end:g}</text><text x="{middle:g}" y="{height + 13}" text-anchor="middle">as '
        f'claimed</text><text x="{_AXIS * _WIDTH:g}" y="{height + 13}" text-anchor="end">× {end:g}</text></svg>'
    )


def key() -> str:
    """Return a line that explains the marks and the axis of all pictures."""
    signs = [
        (_sign("reproduced", True), "reproduced"),
        (_sign("partly", True), "partly, or inconclusive"),
        (_sign("not-reproduced", True), "not reproduced"),
        (_sign("not-testable-as-stated", False), "without a figure"),
    ]
    said = "".join(f"<span>{sign} {meaning}</span>" for sign, meaning in signs)
    return (
        '<p class="key"><span>Each dot is a claim, placed by its measured ÷ claimed figure; a dot at an end may be '
        f"farther away.</span>{said}</p>"
    )


def _sign(kind: str, has_place: bool) -> str:
    size = 2 * _RADIUS + 2
    middle = size / 2
    return (
        f'<svg class="miniature sign-only" viewBox="0 0 {size} {size}" width="{size}" height="{size}" '
        'aria-hidden="true">'
        f"{_shape(kind, middle, middle, has_place)}</svg>"
    )


def _column(place: float | None) -> float:
    """Return the x at which the dots of nearby places on the axis pile up. The claimed figure is in the middle."""
    if place is None:
        return _WIDTH - _RADIUS
    length = _AXIS * _WIDTH
    x = length / 2 + _STEP * round((place - 0.5) * length / _STEP)
    return min(max(x, _RADIUS + 1), length - _RADIUS - 1)  # with its outline


def _mark(claim: Claim, x: float, y: float, has_place: bool) -> str:
    kind = claim.verdict.kind.replace(" ", "-")
    return _shape(kind, x, y, has_place, f"<title>{escape(claim.short)}: {claim.verdict.kind}</title>")


def _shape(kind: str, x: float, y: float, has_place: bool, title: str = "") -> str:
    if has_place:
        return f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{_RADIUS}">{title}</circle>'
    side = 2 * _RADIUS - 2
    return (
        f'<rect class="{kind}" x="{x - side / 2:g}" y="{y - side / 2:g}" width="{side}" height="{side}">{title}</rect>'
    )
