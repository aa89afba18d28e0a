"""How `lab compare` and `lab regress` show what changed: for a person, and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lab.comparison.compare import CaseChange, ClaimChange
from lab.report.html import figure

__all__ = ["Answer", "block"]

_COLOURS = {"identical": "dim", "same figures": "green", "moved": "yellow", "regressed": "red", "undecided": "magenta"}


@dataclass(frozen=True)
class Answer:
    """What changed, claim by claim."""

    changes: tuple[ClaimChange, ...]

    @property
    def exit_code(self) -> int:
        """1 where a verdict or a figure changed, else 0."""
        return int(any(each.change in ("moved", "regressed") for each in self.changes))

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"claims": [each.plain() for each in self.changes]}

    def render(self) -> RenderableType:
        """A block for each claim that is not identical, and a sentence on all."""
        kinds = [each.change for each in self.changes]
        count = ", ".join(f"{kinds.count(kind)} {kind}" for kind in _COLOURS if kind in kinds)
        blocks = [block(each) for each in self.changes if each.change != "identical"]
        return Group(*blocks, Text(f"{len(kinds)} claim{'' if len(kinds) == 1 else 's'}: {count}", "bold"))

    def junit(self) -> bytes:
        """As JUnit XML: a test case for each claim, failed where something changed, skipped where nobody can tell."""
        failed = sum(each.change in ("moved", "regressed") for each in self.changes)
        skipped = sum(each.change == "undecided" for each in self.changes)
        counts = {"tests": str(len(self.changes)), "failures": str(failed), "skipped": str(skipped)}
        suite = ET.Element("testsuite", {"name": "lab", **counts})
        for each in self.changes:
            article, _, claim = each.claim.partition("/")
            case = ET.SubElement(suite, "testcase", classname=article, name=claim)
            text = "\n".join(_lines(each))
            if each.change in ("moved", "regressed"):
                ET.SubElement(case, "failure", message=each.change).text = text
            elif each.change == "undecided":
                ET.SubElement(case, "skipped", message=each.change).text = text
            elif text:
                ET.SubElement(case, "system-out").text = text
        ET.indent(suite)
        document: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
        return document


def block(change: ClaimChange) -> RenderableType:
    """A claim's change: its figures on both sides, and the first packets that differ."""
    title = Text.assemble((change.claim, "bold"), "  ", (change.change, _COLOURS[change.change]))
    lines = Text("\n".join(_lines(change)))
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("arm", "base", "new", "change"):
        table.add_column(name, justify="left" if name == "arm" else "right")
    for case in change.cases:
        if not case.identical:
            table.add_row(_name(case), figure(case.base.measured), figure(case.new.measured), _ratio(case))
    return Group(title, table, Padding(lines, (0, 0, 1, 2)))


def _lines(change: ClaimChange) -> list[str]:
    """Both verdicts where they differ, and the first packets that do."""
    lines = []
    if change.base.kind != change.new.kind:
        lines.append(f"{change.base.kind} on {change.kernels[0]}, {change.new.kind} on {change.kernels[1]}")
    if change.change == "undecided":
        lines += [verdict.reason for verdict in (change.base, change.new) if verdict.kind == "invalid"]
    for case in change.cases:
        if where := case.divergence:
            lines.append(f"{_name(case)}: packet {where.number} of {case.capture} differs in {where.what}")
            lines += [f"  base {where.base or 'has ended'}", f"  new  {where.new or 'has ended'}"]
            break
    return lines


def _name(case: CaseChange) -> str:
    return f"{case.new.arm} {case.new.point}".strip()


def _ratio(case: CaseChange) -> str:
    change = "" if case.ratio is None else f"{100 * (case.ratio - 1):+.2f} %"
    return f"{change} (p {case.shift.p:.2g}, effect {case.shift.effect:+.2f})" if case.shift else change
