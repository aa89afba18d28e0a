"""Show the cost of claims in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.ext.cost.costs import CaseFigures, CostFigure, FunctionChange, KernelCost
from lab.ext.cost.counts import USER
from lab.report.wording import DASH

__all__ = ["PROGRAMS", "by", "changed", "ending", "limited", "named", "number", "shown", "skipped"]

PROGRAMS = "programs"  # how USER is shown
_ROWS = 8  # functions of a case
_GIGA = 1e9
_KERNELS = 3  # columns of a table of functions in 80 columns; of more kernels, it has the first and the last
_NARROW = 8  # the least width of a column whose text may continue on the next line
_FEW = 1000  # above it, a fraction of an instruction is not shown


def shown(cost: KernelCost) -> RenderableType:
    """Return the cost in 80 columns: a table of each claim, then the functions that matter."""
    parts: list[RenderableType] = []
    for claim, cases in groupby(cost.cases, key=lambda each: each.case.claim):
        of_claim = list(cases)
        parts.append(Text(claim, style="bold"))
        if any(any(case.case.counts.values()) for case in of_claim):
            parts.append(_table(cost, of_claim))
        parts += [Text(f"  {line}", style="yellow") for line in _missing(cost, of_claim)]
        parts += [Text(f"  {line}", style="dim") for line in limited(of_claim)]
        for case in of_claim:
            if any(case.case.counts.values()):
                parts += [Text(""), _functions(cost, case)]
        parts.append(Text(""))
    parts += [Text(line, style="red") for line in cost.unequal]
    return Group(*parts, Text(ending(cost), style="bold"))


def number(value: float | None) -> str:
    """Return a number of instructions."""
    if value is None:
        return DASH
    return f"{value:,.0f}" if abs(value) >= _FEW or not value else f"{value:,.1f}"


def changed(ratio: float | None) -> str:
    """Return a relative change with its sign, or nothing."""
    return "" if ratio is None else f"{100 * ratio:+.2f} %".replace("-", "−")


def named(function: str) -> str:
    """Return the name of a function as it is shown."""
    return PROGRAMS if function == USER else function


def by(change: FunctionChange) -> str:
    """Return the change of a function with its sign."""
    sign = "+" if change.by > 0 else "−" if change.by else ""
    return f"{sign}{number(abs(change.by))}"


def _table(cost: KernelCost, cases: list[CaseFigures]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    units = list(dict.fromkeys((*(case.unit for case in cases), "system call")))
    table.add_column("arm", overflow="fold", min_width=_NARROW)
    table.add_column("kernel", overflow="fold", min_width=_NARROW)
    table.add_column("all", justify="right", no_wrap=True)
    for unit in units:
        table.add_column(f"per\n{unit.split()[-1]}", justify="right", no_wrap=True)
    table.add_column("seeds", justify="right", no_wrap=True)
    if cost.function:
        table.add_column(f"{cost.function} per call", justify="right", overflow="fold", min_width=_NARROW)
    if len(cost.kernels) > 1:
        table.add_column("change", justify="right", no_wrap=True)
    for case in cases:
        for place, name in enumerate(name for name in cost.kernels if case.case.counts.get(name)):
            figure = cost.figure(case, name)
            row = [case.name if not place else "", name, total(case.total(name))]
            row += [mean(case.per(name, unit)) for unit in units]
            row.append(f"±{100 * figure.scatter:.2f} %" if figure and len(case.seeds(name)) > 1 else DASH)
            if cost.function:
                row.append(mean(figure))
            if len(cost.kernels) > 1:
                row.append(changed(cost.change(case, name)) if name != cost.base else "")
            table.add_row(*row)
    return table


def total(figure: CostFigure | None) -> str:
    """Return the instructions of a whole trial."""
    return DASH if figure is None else f"{figure.mean / _GIGA:.3f} G"


def mean(figure: CostFigure | None) -> str:
    """Return a number of instructions of all repeats."""
    return number(figure.mean if figure else None)


def _missing(cost: KernelCost, cases: list[CaseFigures]) -> Iterator[str]:
    for case in cases:
        yield from (f"{case.name}, kernel {name}: {reason}" for name, reason in cost.without(case).items())
    yield from skipped(cases)


def limited(cases: Sequence[CaseFigures]) -> Iterator[str]:
    """Yield on which kernels the CPU limited the traffic: a line for each case with such a kernel."""
    for case in cases:
        if found := case.limited():
            shares = sorted({f"{100 * share:.0f}" for share in found.values()}, key=int)
            busy = f"{shares[0]} %" if len(shares) == 1 else f"{shares[0]} to {shares[-1]} %"
            on = "" if len(found) == len(case.case.counts) else f" on {', '.join(found)}"
            yield f"{case.name}: the guest's CPU was busy for {busy} of the time{on}, so it limited the traffic"


def skipped(cases: Sequence[CaseFigures]) -> Iterator[str]:
    """Yield why no distribution kernel can run some cases: a line for each reason, with the names of its arms."""
    reasons: dict[str, list[str]] = {}
    for case in cases:
        if case.case.skipped:
            reasons.setdefault(case.case.skipped, []).append(case.name)
    yield from (f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


def _functions(cost: KernelCost, case: CaseFigures) -> Table:
    """Return the functions with the most instructions or, with two kernels, with the largest changes."""
    there = [name for name in cost.kernels if case.case.counts.get(name)]
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    what = "largest changes" if len(there) > 1 else "most instructions"
    table.add_column(f"{case.name}: {what}, per {case.unit}", overflow="fold")
    columns = there if len(there) <= _KERNELS else there[:1] + there[-1:]
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    if len(there) > 1:
        table.add_column("change", justify="right", no_wrap=True)
        of = [case.functions(name) for name in columns]
        rows = [
            (each, [functions.get(each.name, 0.0) for functions in of]) for each in case.changes(there[0], there[-1])
        ]
        rows = [(each, values) for each, values in rows if len(set(values)) > 1]
        if not rows:
            table.add_row("  none")
        for each, values in rows[:_ROWS]:
            table.add_row(f"  {named(each.name)}", *map(number, values), by(each))
    else:
        functions = case.functions(there[0])
        for name in sorted(functions, key=lambda each: -functions[each])[:_ROWS]:
            table.add_row(f"  {named(name)}", number(functions[name]))
    return table


def ending(cost: KernelCost) -> str:
    """Return what the comparison found, and whether repeats are equal, in one line."""
    if cost.unequal:
        return "no answer: repeats differ, so the counts do not depend on the trial alone"
    if cost.outcome == "open":
        lacking = dict.fromkeys(name for case in cost.cases for name in cost.without(case))
        return f"no answer for {', '.join(lacking)}" if lacking else "no answer: no distribution kernel can run this"
    repeated = any(each.repeat for case in cost.cases for of in case.case.counts.values() for each in of)
    equal = "all repeats are equal, to the last instruction" if repeated else ""
    if len(cost.kernels) > 1:
        return f"{_comparison(cost)}; {equal}" if equal else _comparison(cost)
    return equal or "the figures count the kernel's instructions; all: kernel and programs"


def _comparison(cost: KernelCost) -> str:
    several = any(len(cost.changes(case, name)) > 1 for case in cost.cases for name in cost.kernels)
    if cost.outcome == "changed":
        on = [name for name in cost.kernels if any(cost.has_changed(case, name) for case in cost.cases)]
        reason = "" if several else "; one seed does not show whether the code costs more, or packets moved"
        return f"a cost changed on {' and '.join(on)}{reason}"
    return f"no cost changed by more than {100 * cost.interest:g} %{' with each seed' if several else ''}"
