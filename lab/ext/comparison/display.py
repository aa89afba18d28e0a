"""Show the results of `lab compare` and `lab regress`, in the terminal and as test cases for CI systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lab.ext.comparison.compare import CaseChange, Change, ClaimChange
from lab.ext.comparison.summary import causes, counts, sentence, tests
from lab.ext.comparison.words import absent, chance
from lab.report.ci import junit
from lab.report.ci.case import Case, Outcome
from lab.report.text import measured
from lab.report.wording import counted
from lab.verdict import Result

_PARTED = "first packets differ in"
_COLOURS: dict[Change, str] = {
    "verdict changed": "red",
    "figure moved": "yellow",
    "undecided": "magenta",
    "cannot tell": "magenta",
    "packets differ": "blue",
    "same figures": "green",
    "same packets": "cyan",
    "identical": "dim",
}


@dataclass(frozen=True)
class Answer:
    """Shows the changes, claim by claim."""

    changes: tuple[ClaimChange, ...]

    @property
    def exit_code(self) -> int:
        """Return 1 if a verdict or a figure changed, else 0."""
        return int(any(each.has_changed for each in self.changes))

    def plain(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "claims": [each.plain() for each in self.changes],
            "counts": counts(self.changes),
            "tests": tests(self.changes).plain(),
            "causes": causes(self.changes),
        }

    def render(self) -> RenderableType:
        """Return a block for each claim that is not identical, the fields of first differing packets, and a summary."""
        blocks = [block(each) for each in self.changes if each.change != "identical"]
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
        for what, names in causes(self.changes).items():
            table.add_row(what, str(len(names)), Text(", ".join(names)))
        title = Text(_PARTED, "bold")
        parted: list[RenderableType] = [title, table, Text()] if table.row_count else []
        return Group(*blocks, *parted, Text(sentence(self.changes), "bold"))

    def cases(self) -> tuple[Case, ...]:
        """Return a test case per claim: failed if a figure or verdict changed, skipped if it is undecided."""
        return tuple(map(_tested, self.changes))

    def junit(self) -> str:
        """Return JUnit XML, with a summary of all claims."""
        parted = [f"  {what}: {', '.join(names)}" for what, names in causes(self.changes).items()]
        said = [sentence(self.changes), *([_PARTED, *parted] if parted else [])]
        return junit.write(self.cases(), "\n".join(said))


def _tested(change: ClaimChange) -> Case:
    article, _, claim = change.claim.partition("/")
    outcome: Outcome = "failed" if change.has_changed else "undecided" if change.is_open else "passed"
    detail = "" if change.change == "identical" else "\n".join([change.change, *_lines(change)])
    return Case(article, claim, outcome, change.change, detail)


def block(change: ClaimChange) -> RenderableType:
    """Return a claim's change: its figures on both sides, and the first packets that differ."""
    title = Text.assemble((change.claim, "bold"), "  ", (change.change, _COLOURS[change.change]))
    lines = Padding(Text("\n".join(_lines(change))), (0, 0, 1, 2))
    if change.lacking:
        return Group(title, lines)
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("arm", "base", "new", "change", ""):
        side: Literal["left", "right"] = "left" if name in ("arm", "") else "right"
        table.add_column(name, justify=side, no_wrap=name != "arm", overflow="fold")
    for case in change.cases:
        if not case.identical:
            table.add_row(_name(case), _side(case.base), _side(case.new), _ratio(case), case.change)
    return Group(title, table, lines)


def _lines(change: ClaimChange) -> list[str]:
    """Return both verdicts if they differ, and the first packet or the files of each case that differs."""
    lines = []
    if change.base.kind != change.new.kind:
        lines.append(f"{change.base.kind} on {change.kernels[0]}, {change.new.kind} on {change.kernels[1]}")
    if change.lacking:
        return [*lines, *absent(change)]
    if change.change == "undecided":
        lines += [verdict.reason for verdict in (change.base, change.new) if verdict.kind == "invalid"]
    for case in change.cases:
        lines += [*chance(case), *_parting(case)]
    return lines


def _side(result: Result) -> str:
    """Return one side's figure with its interval, and the number of valid repeats."""
    return "\n".join(filter(None, [measured(result), counted(result)]))


def _parting(case: CaseChange) -> list[str]:
    """Return the first packet that differs in a case, else the files.

    In real time, all packets differ, so return [].
    """
    if where := case.packets.divergence:
        return [
            f"{_name(case)}: packet {where.number} of {case.packets.capture} differs in {where.what}",
            f"  base {where.base or 'has ended'}",
            f"  new  {where.new or 'has ended'}",
        ]
    if case.real_time or not case.files:
        return []
    same = "the same packets" if case.packets.said else "no packets to compare"
    return [f"{_name(case)}: {same}, other bytes in {'; '.join(map(str, case.files))}"]


def _name(case: CaseChange) -> str:
    return f"{case.new.arm} {case.new.point}".strip()


def _ratio(case: CaseChange) -> str:
    return "" if case.ratio is None else f"{100 * (case.ratio - 1):+.2f} %"
