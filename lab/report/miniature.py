"""Draw an article's claims as a small picture for the index: one dot per claim, measured over claimed figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import get_args

from lab.report.article import Article
from lab.report.claim import Claim
from lab.report.dots import end_of_axis, places
from lab.verdict import Kind

_WIDTH, _RADIUS = 320, 6
_STEP = 2 * _RADIUS + 2  # between dots that would cover each other
_AXIS = 0.82  # the share of the width that has the axis; claims without a figure stand right of it


def miniature(article: Article) -> str:
    """Return the picture as inline SVG, or "" if no claim was run.

    Dots have the colours of verdicts, and are rings if the claim was not reproduced. They stand on an axis whose middle
    is the claimed figure, and pile up. Claims without a figure are squares right of the axis.
    """
    shown = _shown(article)
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
    said = "; ".join(f"{claim.short}: {claim.verdict.kind}" for claim in shown)
    return (
        f'<svg class="miniature" viewBox="0 0 {_WIDTH} {height + 31}" role="img" aria-label="{escape(said)}">'
        f"{_axis(end, height) if found else ''}{''.join(marks)}</svg>"
    )


def _axis(end: float, height: int) -> str:
    """Return the axis with its ends, its middle and its quantity, which has no unit."""
    right, middle, text = _AXIS * _WIDTH, _AXIS * _WIDTH / 2, height + 13
    return (
        f'<line class="axis-line" x1="0" x2="{right:g}" y1="{height}" y2="{height}"/>'
        f'<line class="axis-line" x1="{middle:g}" x2="{middle:g}" y1="0" y2="{height}"/>'
        f'<text x="0" y="{text}">÷ {end:g}</text><text x="{middle:g}" y="{text}" text-anchor="middle">as claimed</text>'
        f'<text x="{right:g}" y="{text}" text-anchor="end">× {end:g}</text>'
        f'<text x="{middle:g}" y="{height + 28}" text-anchor="middle">measured ÷ claimed</text>'
    )


def key(articles: Iterable[Article]) -> str:
    """Return a line that explains the axis and every mark in the pictures of these articles, or "" without marks."""
    marks = {(claim.verdict.kind, claim.name in places([claim])) for article in articles for claim in _shown(article)}
    if not marks:
        return ""
    order: tuple[Kind, ...] = get_args(Kind)
    said = "".join(
        f"<span>{_sign(kind.replace(' ', '-'), placed)} {kind}{'' if placed else ', no ratio'}</span>"
        for kind, placed in sorted(marks, key=lambda mark: (not mark[1], order.index(mark[0])))
    )
    about = "Each mark is a claim, placed by its measured ÷ claimed figure; a mark at an end may lie beyond it."
    return f'<p class="key"><span>{about}</span>{said}</p>'


def _shown(article: Article) -> list[Claim]:
    return [claim for claim in article if claim.verdict.kind != "skipped"]


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
