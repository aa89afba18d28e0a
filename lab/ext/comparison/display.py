"""Show the results of `lab compare` and `lab regress`, in the terminal and as test cases for CI systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lab.base import foreign
from lab.ext.comparison.compare import CaseChange, Change, ClaimChange
from lab.ext.comparison.packets import PacketDifference
from lab.ext.comparison.summary import causes, counts, sentence, tests
from lab.ext.comparison.unclaimed import RecordChange
from lab.ext.comparison.words import absent, chance
from lab.report.ci import junit
from lab.report.ci.case import Case, Outcome
from lab.report.text import measured
from lab.report.wording import counted
from lab.verdict import Result

_PARTED = "first packets differ in"
_NAMED = 5  # files that a line names
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
    """Shows the changes claim by claim, and then the changes of trials that belong to no claim."""

    changes: tuple[ClaimChange, ...]
    others: tuple[RecordChange, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return 1 if a verdict, a figure or the output of a program changed, else 0."""
        claims, others = (any(each.has_changed for each in some) for some in (self.changes, self.others))
        return int(claims or others)

    def plain(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "claims": [each.plain() for each in self.changes],
            "counts": counts(self.changes),
            "tests": tests(self.changes).plain(),
            "causes": causes(self.changes),
            **({"trials": [each.plain() for each in self.others]} if self.others else {}),
        }

    def render(self) -> RenderableType:
        """Return a block for each claim that is not identical, the fields of first differing packets, and a summary."""
        blocks = [block(each) for each in self.changes if each.change != "identical"]
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
        for what, names in causes(self.changes).items():
            table.add_row(what, str(len(names)), Text(", ".join(names)))
        title = Text(_PARTED, "bold")
        parted: list[RenderableType] = [title, table, Text()] if table.row_count else []
        ending = [Text(sentence(self.changes), "bold")] if self.changes else []
        return Group(*blocks, *parted, *map(other, self.others), *ending)

    def cases(self) -> tuple[Case, ...]:
        """Return a test case per claim or other trial: failed if a figure, a verdict or printed output changed, skipped
        if the comparison is undecided.
        """
        return (*map(_tested, self.changes), *map(_tried, self.others))

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


def _tried(change: RecordChange) -> Case:
    article, _, trial = change.name.partition("/")
    outcome: Outcome = "failed" if change.has_changed else "passed"
    detail = "" if change.change == "identical" else "\n".join([change.change, *_differences(change)])
    return Case(article, trial, outcome, change.change, detail)


def other(change: RecordChange) -> RenderableType:
    """Return the change of a trial that belongs to no claim: output, first differing packet, and files."""
    colour = {"output changed": "red", "packets differ": "blue", "files differ": "yellow", "identical": "dim"}
    kernels = " → ".join(dict.fromkeys(change.kernels))
    title = Text.assemble((change.name, "bold"), "  ", (change.change, colour[change.change]), f"  {kernels}")
    lines = "\n".join(_differences(change))
    return Group(title, Padding(Text(lines), (0, 0, 1, 2))) if lines else title


def _differences(change: RecordChange) -> list[str]:
    lines = [foreign.printable(line) for line in change.said]
    if where := change.packets.divergence:
        lines += _first_packet("", change.packets.capture, where)
    if change.files:
        more = len(change.files) - _NAMED
        named = "; ".join(map(str, change.files[:_NAMED])) + (f"; and {more} more" if more > 0 else "")
        lines.append(f"other bytes in {named}")
    return lines


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
        return _first_packet(f"{_name(case)}: ", case.packets.capture, where)
    if case.real_time or not case.files:
        return []
    same = "the same packets" if case.packets.said else "no packets to compare"
    return [f"{_name(case)}: {same}, other bytes in {'; '.join(map(str, case.files))}"]


def _first_packet(whose: str, capture: str, where: PacketDifference) -> list[str]:
    return [
        f"{whose}packet {where.number} of {capture} differs in {where.what}",
        f"  base {where.base or 'has ended'}",
        f"  new  {where.new or 'has ended'}",
    ]


def _name(case: CaseChange) -> str:
    return f"{case.new.arm} {case.new.point}".strip()


def _ratio(case: CaseChange) -> str:
    return "" if case.ratio is None else f"{100 * (case.ratio - 1):+.2f} %"
