"""Write a card as a page: one picture of all cases, and what is behind each case's points."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from lab.base import writing
from lab.base.foreign import printable
from lab.ext.cc import behind, display
from lab.ext.cc.card import Card, CaseScore
from lab.ext.cc.scale import MOST
from lab.report import html, page
from lab.report.wording import DASH, figure, interval

_OPEN = 5  # cases with the fewest points, compared with their references, that are unfolded
_STYLE = """
.points .track { height: 1.9rem; }
.points .track .ref { position: absolute; top: .15rem; bottom: .15rem; width: 3px; transform: translateX(-50%); }
.points .dots li { grid-template-columns: clamp(9rem, 24vw, 15rem) 6.5rem 1fr 9rem; }
.points h3 { margin: 1rem 0 .1rem; }
.stands-out { padding-left: 1.8rem; }
.key .ref { display: inline-block; width: 3px; height: .9rem; vertical-align: -.1em; }
.ref-0 { background: var(--arm-2); } .ref-1 { background: var(--arm-3); } .ref-2 { background: var(--arm-5); }
.points .track { background: linear-gradient(var(--grid), var(--grid)) 50% / 1px 100% no-repeat, var(--soft); }
.dot.low { background: var(--bad); }
@media screen and (max-width: 48rem) {
  .points .dots li { grid-template-columns: 1fr 6.5rem; }
  .points .dots .said { display: none; }
  .points .track { grid-column: 1 / -1; }
}
@media print { .points .dots li { grid-template-columns: 10rem 6rem 1fr 8rem; } }
"""


def write(card: Card, file: Path) -> None:
    """Write the page. Raises MachineError if the file cannot be written."""
    writing.write(render(card), file)


def render(card: Card) -> str:
    """Return the page as HTML, a single file without links to others."""
    title, name = f"{card.control}, judged with the questions of RFC 9743", escape(f"{card.control}, judged")
    return page.single(title, f"<span>{name}</span>", "\n".join(_body(card)), _STYLE)


def _body(card: Card) -> Iterator[str]:
    kernel = card.kernel
    version, scales = f"Linux {kernel['version']} ({kernel['name']})", f"version {card.scales} of the scales"
    yield f'<p class="source">{escape(f"{version}, {display.seeds(card)}, {scales}")}</p>'
    for name, score in card.scores.items():
        said = f"<strong>{display.scored(score)}</strong> of {MOST:.0f} points: {display.WEIGHTS[name]}."
        yield f'<p class="answer">{said}</p>'
    if card.reference_scores:
        others = ", ".join(f"{escape(name)} {points:.1f}" for name, points in card.reference_scores.items())
        yield f"<p>References, with every case the same: {others}.</p>"
    if found := [f"<li>{html.prose(printable(line))}</li>" for line in _stands_out(card)]:
        yield f'<ul class="missing stands-out">{"".join(found)}</ul>'
    yield html.heading("cases", "All cases")
    yield _picture(card)
    if card.mixtures:
        yield html.heading("mixtures", "Beside rivals")
        yield _mixtures(card)
    if any(each.paths for each in card.cases):
        yield html.heading("paths", "On changed paths")
        yield _paths(card)
    yield html.heading("behind", "Behind the points")
    first = sorted(card.cases, key=lambda each: (-each.below, each.score.points if each.score else MOST))[:_OPEN]
    yield from (_behind(each, each in first) for each in card.cases)


def _stands_out(card: Card) -> Iterator[str]:
    if said := display.uncompared(card):
        yield said
    for each in card.notable:
        yield f"{each.case.title}: {display.below(each)}"
    yield from (f"{each.case.title}: {each.why}" for each in card.cases if each.why)


def _references(card: Card) -> list[str]:
    return list(dict.fromkeys(name for each in card.cases for name in each.references))


def _picture(card: Card) -> str:
    names = _references(card)
    parts, notable = [], card.notable
    for criterion, cases in groupby(card.cases, key=lambda each: each.case.criterion):
        rows = "".join(_row(each, names, each in notable) for each in cases)
        parts.append(f'<h3>{escape(criterion.capitalize())}</h3><ol class="dots">{rows}</ol>')
    keys = [f"from 0 to {MOST:.0f} points", f'<span class="dot"></span> {escape(card.control)}']
    keys += [f'<span class="ref ref-{number % 3}"></span> {escape(name)}' for number, name in enumerate(names)]
    keys += ['<span class="dot low"></span> far below what it is compared with'] if notable else []
    shown = "".join(f"<span>{key}</span>" for key in keys)
    return f'<div class="points"><p class="key">{shown}</p>{"".join(parts)}</div>'


def _row(each: CaseScore, names: list[str], is_notable: bool) -> str:
    marks = "".join(
        f'<span class="ref ref-{number % 3}" style="left:{_left(each.references[name])}"></span>'
        for number, name in enumerate(names)
        if name in each.references
    )
    score, said = each.score, DASH
    if score is not None:
        said = f"{score.points:.0f} points"
        if score.low is not None and score.high is not None:
            low, high = max(score.low, 0.0), min(score.high, MOST)
            marks += f'<span class="interval" style="left:{_left(low)};width:{high - low:.4g}%"></span>'
        kind = "dot low" if is_notable else "dot"
        marks += f'<span class="{kind}" style="left:{_left(score.points)}"></span>'
    return (
        f'<li><span class="label"><a href="#{_anchor(each)}">{escape(each.case.title)}</a></span>'
        f'<span class="got">{said}</span><span class="track" aria-hidden="true">{marks}</span>'
        f'<span class="said">{html.prose(figure(each.figure))}</span></li>'
    )


def _left(points: float) -> str:
    return f"{1 + 0.98 * points:.4g}%"  # so that a dot at an end is whole


def _anchor(each: CaseScore) -> str:
    return each.case.name.replace("/", "-")


def _mixtures(card: Card) -> str:
    names = list(dict.fromkeys(name for each in card.mixtures for name in each.figures))
    rows = [
        [escape(each.rival), *(html.prose(figure(each.figures.get(name))) for name in names)] for each in card.mixtures
    ]
    return html.table(["Rival", *names], rows)


def _paths(card: Card) -> str:
    names = list(dict.fromkeys(path for each in card.cases for path in each.paths))
    rows = [
        [escape(each.case.title), f"{each.seeds[0]:.0f}", *(_moved(each, name) for name in names)]
        for each in card.cases
        if each.paths and each.seeds
    ]
    note = "<p>Points with the first seed, and how they change with the path.</p>"
    return note + html.table(["Case", "Points", *names], rows)


def _moved(each: CaseScore, path: str) -> str:
    points = each.paths.get(path)
    return DASH if points is None else f"{points - each.seeds[0]:+.0f}".replace("-", "−")


def _behind(each: CaseScore, is_open: bool) -> str:
    case, scale = each.case, each.case.scale
    none = "a full buffer" if scale.none is None else figure(scale.none)
    facts = [
        ("Question", html.prose(case.study.claim)),
        ("Source", html.cited(case.study.source)),
        ("Points", html.prose(f"0 for {none}, {MOST:.0f} for {figure(scale.all)}: {scale.because}")),
        ("Figure", html.prose(f"{case.figure} {figure(each.figure)} {interval(each.figure)}")),
        ("Also", html.prose(", ".join(f"{name} {figure(value)}" for name, value in each.others.items()))),
        ("Cannot tell", html.prose(case.blind)),
        ("Trials", " ".join(f'<span class="trial">{record.address[:12]}</span>' for record in each.records)),
        ("Why", html.prose(printable(each.why))),
    ]
    listed_ = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts if text)
    chart = behind.drawn(each.records[0], case.title) if each.records else ""
    shown = f"<figure>{chart}</figure>" if chart else ""
    return (
        f'<details id="{_anchor(each)}"{" open" if is_open else ""}><summary>{escape(case.title)}</summary>\n'
        f"<dl>{listed_}</dl>{shown}{_explained(each)}</details>"
    )


def _explained(each: CaseScore) -> str:
    """Return a fold with the references' figures and their laws, or "" if the pack has no references for the case."""
    rows = []
    for name, values in each.case.references.items():
        law = each.case.laws.get(name)
        measured = html.prose(", ".join(map(figure, values)))
        if law is None:
            rows.append([escape(name), measured, DASH, DASH, ""])
            continue
        parts = (law.because, law.source and f"({law.source})", law.open and f"Open: {law.open}")
        text = " ".join(filter(None, parts))
        said = html.prose(display.stated(law.figure))
        rows.append([escape(name), measured, said, html.prose(display.off(law.off(values))), html.cited(text)])
    if not rows:
        return ""
    table = html.table(["Reference", "Figures, seed by seed", "Law", "Law against mean", "Why"], rows)
    return f"<details><summary>Why the references have their figures</summary>{table}</details>"
