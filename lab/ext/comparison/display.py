"""Show the results of `lab compare` and `lab regress`, in the terminal and as test cases for CI systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lab.base import foreign
from lab.ext.comparison.compare import CaseChange, Change, ClaimChange
from lab.ext.comparison.digest import TopicChange, alike, changed, headline, moved, name, remarks, topics
from lab.ext.comparison.packets import PacketDifference
from lab.ext.comparison.summary import causes, counts, sentence, tests
from lab.ext.comparison.unclaimed import RecordChange
from lab.ext.comparison.words import absent, chance, reasons
from lab.report import wording
from lab.report.ci import junit
from lab.report.ci.case import Case, Outcome
from lab.report.text import measured
from lab.report.wording import trials
from lab.verdict import Result

_PARTED = "first packets differ in"
_NAMED = 5  # files that a line names
_NAMED_ARMS = 3
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
        """Return the most important change, the figures that moved, each difference of packets once, and a summary."""
        ending = [Text(sentence(self.changes), "bold")] if self.changes else []
        return Group(*_changed(self.changes), *map(other, self.others), *ending)

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
    article = change.name.partition("/")[0]
    outcome: Outcome = "failed" if change.has_changed else "passed"
    detail = "" if change.change == "identical" else "\n".join([change.change, *_differences(change)])
    return Case(article, change.run, outcome, change.change, detail)


def other(change: RecordChange) -> RenderableType:
    """Return the change of a trial that belongs to no claim: output, first differing packet, and files."""
    colour = {"output changed": "red", "packets differ": "blue", "files differ": "yellow", "identical": "dim"}
    kernels = " → ".join(dict.fromkeys(change.kernels))
    title = Text.assemble((change.run, "bold"), "  ", (change.change, colour[change.change]), f"  {kernels}")
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


def _changed(changes: Sequence[ClaimChange]) -> Iterator[RenderableType]:
    """Yield what changed: in a sentence, by figure, by packet, and what could not be compared."""
    if not changes:
        return
    topic, said = headline(changes)
    base, new = next((each for each in changes if each.was_compared), changes[0]).kernels
    yield Text.assemble((topic, "bold"), f": {said}")
    yield Text(f"{base} → {new}", "dim")
    yield from map(Text, dict.fromkeys(said for each in changes for said in _commits(each)))
    yield Text()
    for each in changed(changes):
        if each.has_changed:
            yield figures(each)
    for number, difference in enumerate(topics(changes)):
        yield _topic(difference, f": {difference.says}" if number else "")
    yield from _not_compared(changes)


def figures(change: ClaimChange) -> RenderableType:
    """Return a claim's figures that moved, on both sides, the largest change first."""
    verdicts = f": {change.base.kind} → {change.new.kind}" if change.base.kind != change.new.kind else ""
    title = Text.assemble((change.claim, "bold"), "  ", (change.change, _COLOURS[change.change]), verdicts)
    table = Table(box=None, pad_edge=False, padding=(0, 2), show_header=False)
    sides: tuple[JustifyMethod, ...] = ("left", "right", "right", "right")
    for side in sides:
        table.add_column(justify=side, no_wrap=side == "right", overflow="fold")
    for case, *others in alike(moved(change)):
        more = f" and {len(others)} more" if others else ""
        table.add_row(name(case) + more, _side(case.base), _side(case.new), _ratio(case))
    lines = [*absent(change)] if change.lacking else [*_remarks([change], moved(change))]
    return Group(title, Padding(Group(table, *map(Text, lines)), (0, 0, 1, 2)))


def _topic(difference: TopicChange, said: str) -> RenderableType:
    """Return one difference of packets: the claims with it, and the packets around it in one case."""
    where, (change, case) = difference.packets, difference.cases[0]
    count = wording.plural(len(difference.claims), "claim")
    rows = [("", each) for each in where.before]
    rows += [("base", each) for each in (where.base or "has ended", *where.base_after[:1])]
    rows += [("new", each) for each in (where.new or "has ended", *where.new_after[:1])]
    table = Table(box=None, pad_edge=False, padding=(0, 1), show_header=False)
    for side, line in rows:
        table.add_row(Text(side, "dim"), Text(line, {"base": "red", "new": "green"}.get(side, "")))
    return Group(
        Text.assemble((difference.topic, "bold"), f" in {count}{said}"),
        Padding(Text(f"{change.claim} {name(case)}: packet {where.number} of {case.packets.capture}"), (0, 0, 0, 2)),
        Padding(table, (0, 0, 0, 2)),
        Padding(Text(where_else(difference.claims)), (0, 0, 0, 2)),
        Text(),
    )


def where_else(claims: Mapping[str, Sequence[str]]) -> str:
    """Return claims with their arms in one line. Of many arms, the line has only the number."""
    return "; ".join(
        f"{claim} {', '.join(arms) if len(arms) <= _NAMED_ARMS else f'({len(arms)} arms)'}"
        for claim, arms in claims.items()
    )


def _not_compared(changes: Sequence[ClaimChange]) -> Iterator[RenderableType]:
    """Yield each reason for which a case could not be compared, once, with all cases that it is about."""
    found = reasons(changes)
    if found:
        yield Text("Not compared", "bold")
        for reason, claims in found.items():
            yield Padding(Text(f"{reason}: {where_else(claims)}" if claims else reason), (0, 0, 0, 2))
        yield Text()


def block(change: ClaimChange) -> RenderableType:
    """Return one claim's change in full: its figures, its differences of packets, and what was not compared."""
    return Group(*_changed([change]))


def _lines(change: ClaimChange) -> list[str]:
    """Return both verdicts if they differ, and the first packet or the files of each case that differs, each once."""
    lines = []
    if change.base.kind != change.new.kind:
        lines.append(f"{change.base.kind} on {change.kernels[0]}, {change.new.kind} on {change.kernels[1]}")
    if change.lacking:
        return [*lines, *absent(change)]
    if change.change == "undecided":
        lines += [verdict.reason for verdict in (change.base, change.new) if verdict.kind == "invalid"]
    return [*lines, *_remarks([change], change.cases), *_partings(change), *_commits(change)]


def _remarks(changes: Sequence[ClaimChange], cases: Sequence[CaseChange]) -> Iterator[str]:
    """Yield each remark on these cases once, with the arms that it is about."""
    for remark, claims in remarks(changes, lambda case: chance(case) if case in cases else ()).items():
        yield from (f"{', '.join(arms)}: {remark}" for arms in claims.values())


def _commits(change: ClaimChange) -> Iterator[str]:
    for each in change.commits:
        yield foreign.printable(f"commit {each.commit} {each.title}: {each.known}")


def _side(result: Result) -> str:
    """Return one side's figure with its interval, and the number of valid repeats of several."""
    return "\n".join(filter(None, [measured(result), trials(result)]))


def _partings(change: ClaimChange) -> list[str]:
    """Return each first packet that differs once, with the arms that have it; else the files that differ.

    In real time, all packets differ, so such cases are left out.
    """
    packets: dict[tuple[str, PacketDifference], list[str]] = {}
    files: dict[str, list[str]] = {}
    for case in change.cases:
        if where := case.packets.divergence:
            packets.setdefault((case.packets.capture, where), []).append(name(case))
        elif case.files and not case.real_time:
            same = "the same packets" if case.packets.said else "no packets to compare"
            said = f"{same}, other bytes in {'; '.join(map(str, case.files))}"
            files.setdefault(said, []).append(name(case))
    lines = [
        line
        for (capture, where), arms in packets.items()
        for line in _first_packet(f"{', '.join(arms)}: ", capture, where)
    ]
    return [*lines, *(f"{', '.join(arms)}: {said}" for said, arms in files.items())]


def _first_packet(whose: str, capture: str, where: PacketDifference) -> list[str]:
    return [
        f"{whose}packet {where.number} of {capture} differs in {where.what}",
        f"  base {where.base or 'has ended'}",
        f"  new  {where.new or 'has ended'}",
    ]


def _ratio(case: CaseChange) -> str:
    return "" if case.ratio is None else f"{100 * (case.ratio - 1):+.2f} %"
