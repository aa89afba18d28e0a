"""`lab compare` and `lab regress`: the same claims on two kernels, or in two stores, beside each other."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lab import claims
from lab.errors import InputError
from lab.kernel import Budget, Ground
from lab.record.record import Record
from lab.record.store import Store
from lab.regress.compare import CaseChange, Change, ClaimChange, compare
from lab.regress.summary import causes, counts, sentence
from lab.report.html import figure
from lab.report.judged import Judged, stored
from lab.run.plan import Settings
from lab.spec import find
from lab.spec.load import Loaded

__all__ = ["Answer", "baseline", "baseline_folder", "block", "kernels", "save", "stores"]

BASELINES = "baselines"  # below a store: stores of their own, whose records are links to its

_PARTED = "first packets differ in"
_COLOURS: dict[Change, str] = {
    "identical": "dim",
    "same packets": "cyan",
    "same figures": "green",
    "moved": "yellow",
    "regressed": "red",
    "undecided": "magenta",
}


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
        return {
            "claims": [each.plain() for each in self.changes],
            "counts": counts(self.changes),
            "causes": causes(self.changes),
        }

    def render(self) -> RenderableType:
        """A block for each claim that is not identical, in what their first packets differ, and a sentence on all."""
        blocks = [block(each) for each in self.changes if each.change != "identical"]
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
        for what, names in causes(self.changes).items():
            table.add_row(what, str(len(names)), Text(", ".join(names)))
        title = Text(_PARTED, "bold")
        parted: list[RenderableType] = [title, table, Text()] if table.row_count else []
        return Group(*blocks, *parted, Text(sentence(self.changes), "bold"))

    def junit(self) -> bytes:
        """As JUnit XML: a test case for each claim, failed where something changed, skipped where nobody can tell."""
        failed = sum(each.change in ("moved", "regressed") for each in self.changes)
        skipped = sum(each.change == "undecided" for each in self.changes)
        totals = {"tests": str(len(self.changes)), "failures": str(failed), "skipped": str(skipped)}
        suite = ET.Element("testsuite", {"name": "lab", **totals})
        for each in self.changes:
            article, _, claim = each.claim.partition("/")
            case = ET.SubElement(suite, "testcase", classname=article, name=claim)
            text = "\n".join([each.change, *_lines(each)])
            if each.change in ("moved", "regressed"):
                ET.SubElement(case, "failure", message=each.change).text = text
            elif each.change == "undecided":
                ET.SubElement(case, "skipped", message=each.change).text = text
            elif each.change != "identical":
                ET.SubElement(case, "system-out").text = text
        parted = [f"  {what}: {', '.join(names)}" for what, names in causes(self.changes).items()]
        said = [sentence(self.changes), *([_PARTED, *parted] if parted else [])]
        ET.SubElement(suite, "system-out").text = "\n".join(said)
        ET.indent(suite)
        document: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
        return document


def stores(base: Path, new: Path) -> Answer:
    """Two stores compared, by all claims that both hold. Raises InputError, Incomparable."""
    experiments = find.find()
    for store in (base, new):
        if not store.is_dir():
            raise InputError(f"{store} is no store of records")
    changes = compare(_judged(experiments, Store(base)), _judged(experiments, Store(new)))
    if not changes:
        raise InputError(f"{base} and {new} have no claim in common, of the experiments as they stand")
    return Answer(changes)


def kernels(
    experiments: Sequence[Loaded], pair: Sequence[Settings], results: Path, jobs: int | None, budget: Budget
) -> Answer:
    """Run what the store lacks on both kernels, and compare. Raises what `claims.run` raises."""
    base, new = claims.run_beside(experiments, pair, results, jobs, budget)
    return Answer(compare(base.judged, new.judged))


def save(experiments: Sequence[Loaded], kernel: Ground, seed: int, results: Path, name: str) -> tuple[Path, int]:
    """Keep what the store has of these claims on `kernel` as the baseline `name`: its folder, how many records.

    Raises InputError when there is a baseline of that name, or nothing to keep.
    """
    folder = baseline_folder(results, name)
    if folder.exists():
        raise InputError(f"there is a baseline '{name}' already: remove {folder}, or choose another name")
    judged = _judged(experiments, Store(results), kernel, seed)
    records = [record for each in judged for record in each.records]
    if not records:
        raise InputError(f"{results} has no records of these claims on kernel {kernel.name}: `lab run` makes them")
    for record in records:
        Store(folder).adopt(record)
    return folder, len(records)


def baseline(
    experiments: Sequence[Loaded], name: str, settings: Settings, results: Path, jobs: int | None, budget: Budget
) -> Answer:
    """Run what the baseline `name` holds with these settings too, and compare. Raises InputError without a baseline."""
    folder = baseline_folder(results, name)
    if not folder.is_dir():
        known = sorted(each.name for each in folder.parent.glob("*")) if folder.parent.is_dir() else []
        there = f"there is {', '.join(known)}" if known else "`lab baseline save` keeps one"
        raise InputError(f"no baseline '{name}' in {results}: {there}")
    base = [each for each in _judged(experiments, Store(folder)) if each.records]
    held = [loaded for loaded in experiments if loaded.id in {each.declared.id for each in base}]
    return Answer(compare(base, claims.run(held, settings, results, jobs, budget).judged))


def baseline_folder(results: Path, name: str) -> Path:
    """Where the baseline `name` is, or would be. Raises InputError for what is no name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(f"'{name}' does not name a baseline: use letters, digits, '.', '-' and '_'")
    return results / BASELINES / name


def _judged(
    experiments: Sequence[Loaded], store: Store, kernel: Ground | None = None, seed: int = 1
) -> tuple[Judged, ...]:
    """By the records of a kernel and its variants, from that seed on; by all of the store without one."""
    records = store if kernel is None else _of(kernel, seed, store)
    return stored(experiments, records, store.predictions)


def _of(kernel: Ground, seed: int, store: Store) -> Iterator[Record]:
    """The records of a kernel and of its variants, from that seed on."""
    for record in store:
        ran = record.trial.kernel
        if kernel.id in (ran.get("id"), ran.get("base")) and record.trial.seed >= seed:
            yield record


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
    """Both verdicts where they differ; and of each case that differs the first packet that does, or the files."""
    lines = []
    if change.base.kind != change.new.kind:
        lines.append(f"{change.base.kind} on {change.kernels[0]}, {change.new.kind} on {change.kernels[1]}")
    if change.change == "undecided":
        lines += [verdict.reason for verdict in (change.base, change.new) if verdict.kind == "invalid"]
    for case in change.cases:
        lines += _parting(case)
    return lines


def _parting(case: CaseChange) -> list[str]:
    """The first packet of a case that differs, else the files that do; nothing of real time, where all files differ."""
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
    change = "" if case.ratio is None else f"{100 * (case.ratio - 1):+.2f} %"
    return f"{change} (p {case.shift.p:.2g}, effect {case.shift.effect:+.2f})" if case.shift else change
