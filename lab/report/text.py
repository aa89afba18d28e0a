"""Print claims in a terminal: one block per claim, in 80 columns.

Importing the library that draws the blocks takes long, so the import happens only when a claim is drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from html import unescape
from textwrap import fill
from typing import TYPE_CHECKING, Literal

from lab.report.wording import DASH, counted, factor, figure, foreseen, interval, off_by, percent
from lab.verdict import ClaimResult, Kind, Result

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lab.verdict.judged import JudgedClaim

COLOURS: Mapping[Kind, str] = {
    "reproduced": "green",
    "partly": "bright_yellow",
    "not reproduced": "yellow",
    "not testable as stated": "blue",
    "inconclusive": "cyan",
    "measured": "green",
    "invalid": "red",
    "skipped": "magenta",
}
_COLUMNS = 80
_MARKS = {"off": " !", "undecided": " ?"}  # of a prediction
_INLINE = re.compile(r"</?(?:a|code|em|q|small|span|strong)\b[^>]*>")  # other tags separate words
_IMPLIED = "(in brackets: not the article's figure, but one that it implies)"


def block(claim: ClaimResult) -> RenderableType:
    """Return a claim's verdict part by part, its figures arm by arm, and the basis of the predictions."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    title = Text.assemble((claim.claim, "bold"), "  ", (claim.verdict.kind, COLOURS[claim.verdict.kind]))
    if claim.is_study:
        return Group(title, _figures(claim), *_remarked([*_gaps(claim), *_bases(claim)]), Text(""))
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name, justify in (("arm", "left"), ("claimed", "right"), ("predicted", "right"), ("measured", "right")):
        style = "" if name == "measured" else "dim"
        table.add_column(name, justify=justify, style=style, no_wrap=name != "arm", overflow="fold")  # type: ignore[arg-type]
    for name in ("n/N", "model error"):
        table.add_column(name, justify="right", style="dim", no_wrap=True)
    for result in claim.results:
        table.add_row(*_row(result))
        if result.law:
            table.add_row("  law", "", factor(result, figure(result.law)), "", "", _percent(result.law_error))
    reason = [Text(claim.verdict.reason, style="dim")] if claim.verdict.kind in ("invalid", "skipped") else []
    parts = [Text.assemble(f"  {name}: ", (part.kind, COLOURS[part.kind])) for name, part in claim.parts]
    lines = (*([_IMPLIED] if any(result.implied for result in claim.results) else []), *_gaps(claim), *_bases(claim))
    return Group(title, *reason, *parts, table, *_remarked(lines), Text(""))


def _remarked(lines: Iterable[str]) -> list[RenderableType]:
    from rich.text import Text

    return [Text(fill(line, _COLUMNS, subsequent_indent="  "), style="dim") for line in lines]


def _figures(study: ClaimResult) -> RenderableType:
    """Return a study's table: for each figure, a row for each arm at each point."""
    from rich.table import Table
    from rich.text import Text

    foretold = any(result.prediction for result in study.results)
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in (
        "arm",
        *(["predicted"] if foretold else []),
        "measured",
        "n/N",
        *(["model error"] if foretold else []),
    ):
        justify: Literal["left", "right"] = "left" if name == "arm" else "right"
        style = "" if name in ("arm", "measured") else "dim"
        table.add_column(name, justify=justify, style=style, no_wrap=name != "arm", overflow="fold")
    for figure_name in dict.fromkeys(result.figure for result in study.results):
        if figure_name:
            table.add_row(Text(figure_name, "bold"))
        for result in study.results:
            if result.figure == figure_name:
                name, _, *cells = _row(result)
                shown = cells if foretold else cells[1:3]
                table.add_row(f"  {name}" if figure_name else name, *shown)
    return table


def marked(said: str, style: str = "") -> RenderableType:
    """Return text with its `code` in colour."""
    from rich.text import Text

    parts = re.split(r"`([^`]+)`", said)
    return Text.assemble(*((part, f"{style} cyan".strip() if index % 2 else style) for index, part in enumerate(parts)))


def unmarked(page: str) -> str:
    """Return the text in a piece of a page, without tags."""
    text = _INLINE.sub("", page.replace("<q>", "“").replace("</q>", "”"))
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def blocks(claims: Iterable[ClaimResult]) -> RenderableType:
    """Return one block per claim."""
    from rich.console import Group

    return Group(*map(block, claims))


def remarks(judged: JudgedClaim) -> Iterable[str]:
    """Yield remarks about an unexpected verdict, predictions that miss their accuracy, and explanations that fail."""
    claim, known = judged.result, judged.known_misses
    if claim.verdict.kind != "skipped" and not judged.as_expected:
        yield f"{claim.claim}: the verdict is {claim.verdict.kind}; the claim expects {' or '.join(judged.expected)}"
    for result in claim.results:
        if result.standing in ("off", "undecided"):
            name = f"{result.arm} at {result.point}" if result.point else result.arm
            spread = f" ({within})" if (within := interval(result.measured)) else ""
            yield (
                f"{claim.claim}, {name}: the model is {result.standing}, {foreseen(result)} predicted, "
                f"{factor(result, figure(result.measured))} measured{spread}; declared accuracy: {result.accuracy}"
                + (f"; known: {known[result.arm]}" if result.arm in known else "")
            )
        elif result.unsteady and not result.claimed:
            name = " ".join(filter(None, (result.arm, result.point, result.figure)))
            yield f"{claim.claim}, {name}: {result.unsteady}"
    for result in claim.results:
        if result.explains and result.explains.grade != "consistent" and result.bears_out is False:
            got = factor(result, figure(result.measured))
            grade, against = result.explains.grade, f"{got} measured, {_claimed(result)} claimed"
            yield f"{claim.claim}, {result.arm} {result.point}".rstrip() + f": '{grade}' is not borne out, {against}"


def plain(what: RenderableType) -> str:
    """Return the text for a terminal of 80 columns without colours."""
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=_COLUMNS,
        highlight=False,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
    )
    with console.capture() as captured:
        console.print(what)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def measured(result: Result) -> str:
    """Return the measured figure and, on separate lines, its interval and the interval's coverage."""
    bounds = interval(result.measured).replace(" (", "\n(")
    return "\n".join(filter(None, [factor(result, figure(result.measured)), bounds]))


def _row(result: Result) -> tuple[str, ...]:
    name = f"{result.arm} {result.point}".strip()
    mark = _MARKS.get(result.standing or "holds", "")
    figures = _claimed(result), foreseen(result), measured(result)
    return name, *figures, counted(result), off_by(result).replace(DASH, "") + mark


def _claimed(result: Result) -> str:
    """Return the claim's figure with the sign of a bound, in brackets if the article only implies it."""
    said = result.bound + factor(result, figure(result.claimed.value)) if result.claimed else DASH
    return f"({said})" if result.implied else said


def _percent(ratio: float | None) -> str:
    return "" if ratio is None else percent(ratio)


def _gaps(claim: ClaimResult) -> Iterable[str]:
    """Yield why figures are not measured, not predicted, or predicted after their trials, with arms and points."""
    names: dict[str, list[str]] = {}
    for result in claim.results:
        failed = result.verdict if result.verdict and result.verdict.kind in ("invalid", "skipped") else None
        for what, why in (
            (failed.kind if failed else "", failed.reason if failed else ""),
            ("not predicted", result.why_not_predicted),
            ("no law", result.why_no_law),
            ("predicted again: the kept figure differs from the model's", result.instead),
        ):
            if why:
                names.setdefault(f"{what}: {why}", []).append(f"{result.arm} {result.point}".strip())
    late = [f"{result.arm} {result.point}".strip() for result in claim.results if result.after_the_fact]
    if late:
        names["predicted after the fact: the trial had started before"] = late
    for why, having in names.items():
        yield f"{why} ({', '.join(having)})" if len(having) < len(claim.results) else why


def _bases(claim: ClaimResult) -> Iterable[str]:
    """Yield the kind and basis of each prediction, once for arms whose predictions differ only in a number."""
    worth = {name: f"; skill {skill:.2f} over one figure for all arms" for name, skill in claim.skills.items()}
    for each in dict.fromkeys(f"{each.name}, {each.kind}: {each.basis}" for each in claim.predictions):
        yield each + worth.get(each.partition(",")[0], "")
