"""Show a card in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.ext.cc.card import Card, CaseScore
from lab.ext.cc.scale import Score
from lab.report.wording import DASH, figure, listed, plural
from lab.units import Value

WEIGHTS = {"case": "every case counts the same", "criterion": "every criterion counts the same"}


def shown(card: Card) -> RenderableType:
    """Return the card in 80 columns: the scores, the cases, the mixtures, and what stands out."""
    parts: list[RenderableType] = [Text(title(card), style="bold")]
    parts += [Text(f"  {scored(score)}  {WEIGHTS[name]}") for name, score in card.scores.items()]
    if card.reference_scores:
        others = ", ".join(f"{name} {points:.1f}" for name, points in card.reference_scores.items())
        parts.append(Text(f"  references, every case the same: {others}", style="dim"))
    parts += [Text(""), _table(card)]
    if card.mixtures:
        parts += [Text(""), _mixtures(card)]
    return Group(*parts, Text(""), *(Text(line, style=style) for line, style in _lines(card)))


def title(card: Card) -> str:
    """Return the title: what was judged, on which kernel, with how many cases."""
    return f"{card.control} on {card.kernel['name']}: {plural(len(card.scored), 'case')}, {seeds(card)}"


def seeds(card: Card) -> str:
    """Return the seeds in words."""
    count = max((len(each.seeds) for each in card.scored), default=1)
    return f"seed {card.seed}" if count == 1 else f"seeds {card.seed} to {card.seed + count - 1}"


def scored(score: Score) -> str:
    """Return a score with its interval."""
    if score.low is None or score.high is None or score.coverage is None:
        return f"{score.points:.1f}"
    return f"{score.points:.1f} ({score.low:.1f} to {score.high:.1f}, {100 * score.coverage:.0f} %)"


def below(each: CaseScore) -> str:
    """Return how far a case is below what it is compared with, in words."""
    names = list(each.compared)
    return f"{each.below:.0f} points below {'the unchanged ' if len(names) == 1 else 'each of '}{listed(names)}"


def stated(law: Value | None) -> str:
    """Return the figure or the interval of a law."""
    if law is None or law.low is None or law.high is None:
        return figure(law)
    return f"{figure(Value(law.low, law.unit))} to {figure(Value(law.high, law.unit))}"


def off(share: float | None) -> str:
    """Return how far a law is from the measured figure, in per cent."""
    if share is None:
        return DASH
    text = f"{100 * share:+.1f} %".replace("-", "−")
    return "within" if not share else text if text[1:] != "0.0 %" else text[1:]


def uncompared(card: Card) -> str:
    """Return why the card compares no case with the references, or "" if it does. A pack may have no references."""
    if not any(each.known for each in card.cases):
        return ""
    if not card.is_comparable:
        return f"no case is compared, because the references ran on {card.measured_on}"
    known = any(each.references for each in card.cases)
    return "" if known else f"no case is compared, because the references did not run with {seeds(card)}"


def _table(card: Card) -> Table:
    notable = card.notable
    names = list(dict.fromkeys(name for each in card.cases for name in each.references))
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("case", overflow="fold")
    table.add_column("figure", justify="right", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", style="dim", no_wrap=True)
    for criterion, cases in groupby(card.cases, key=lambda each: each.case.criterion):
        table.add_row(Text(criterion, style="bold"))
        for each in cases:
            others = [f"{each.references[name]:.0f}" if name in each.references else DASH for name in names]
            table.add_row(f"  {each.case.title}", figure(each.figure), _points(each, each in notable), *others)
    return table


def _points(each: CaseScore, is_notable: bool) -> Text:
    if each.score is None:
        return Text(DASH)
    return Text(f"{each.score.points:.0f}", style="bold red" if is_notable else "bold")


def _mixtures(card: Card) -> Table:
    names = list(dict.fromkeys(name for each in card.mixtures for name in each.figures))
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("against")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in card.mixtures:
        table.add_row(each.rival, *(figure(each.figures.get(name)) for name in names))
    return table


def _lines(card: Card) -> Iterator[tuple[str, str]]:
    """Yield remarks with their styles."""
    if said := uncompared(card):
        yield said, "yellow"
    for each in card.notable:
        yield f"{each.case.title}: {below(each)} ({each.case.name})", "red"
    for each in card.cases:
        if each.why:
            yield f"{each.case.title}: {each.why}", "yellow"
    yield from ((f"against {each.rival}: {each.why}", "yellow") for each in card.mixtures if each.why)
    moved = sorted(
        ((each, *each.furthest) for each in card.cases if each.furthest), key=lambda each: -abs(each[2])
    )  # the path that matters most comes first
    for case, path, points in moved[:5]:
        yield f"{case.case.title}: {points:+.0f} points at {path}", "dim"
