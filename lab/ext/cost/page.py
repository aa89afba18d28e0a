"""Write the cost of claims as a page: a picture of all functions, coloured by what changed between two kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from lab.base import writing
from lab.ext.cost import display
from lab.ext.cost.areas import area
from lab.ext.cost.costs import CaseFigures, FunctionChange, KernelCost
from lab.report import html, page
from lab.report.wording import DASH

_LEAST = 0.002  # the share of all instructions below which a function is drawn with others of its area
_NAMED = 0.012  # the share from which a name is readable
_FULL = 0.25  # the relative change that has the full colour
_ROWS = 25  # functions in a table
_STYLE = """
.flame { display: flex; overflow: hidden; width: 100%; min-width: 44rem; margin: .4rem 0; }
.flame .area { display: flex; flex-direction: column; min-width: 0; }
.flame .functions { display: flex; width: 100%; }
.flame .cell { min-width: 0; overflow: hidden; white-space: nowrap; text-overflow: clip; font-size: .78rem;
  height: 1.9rem; line-height: 1.9rem; padding-left: .15rem;
  border-right: 1px solid var(--paper); border-bottom: 1px solid var(--paper);
  box-sizing: border-box; print-color-adjust: exact;
  background: color-mix(in srgb, var(--tone, var(--grid)) var(--much, 0%), var(--grid)); }
.flame .functions .cell { height: 9rem; padding: .2rem 0; font-size: .72rem; line-height: 1;
  writing-mode: vertical-rl; }
.flame .functions .wide.cell { padding: .2rem .15rem; white-space: normal; overflow-wrap: anywhere;
  writing-mode: horizontal-tb; }
.more { --tone: #c0392b; } .less { --tone: #1f6fb2; }
.key .swatch { display: inline-block; width: 1.2rem; height: .8rem; vertical-align: -.08em; margin: 0 .2rem 0 .6rem;
  background: color-mix(in srgb, var(--tone) 80%, var(--grid)); }
@media (min-width: 46.5rem) { .sideways { display: none; } } /* the flame and the page's margins */
td.number, .cards td { font-variant-numeric: tabular-nums; }
"""


def write(cost: KernelCost, file: Path) -> None:
    """Write the page. Raises MachineError if the file cannot be written."""
    writing.write(render(cost), file)


def render(cost: KernelCost) -> str:
    """Return the page as HTML, a single file without links to others."""
    names = " and ".join(cost.kernels) if len(cost.kernels) < 3 else ", ".join(cost.kernels)
    title = f"The cost of {'kernel' if len(cost.kernels) == 1 else 'kernels'} {names} in instructions"
    return page.single(title, f"<span>{escape(title)}</span>", "\n".join(_body(cost)), _STYLE)


def _body(cost: KernelCost) -> Iterator[str]:
    yield (
        "<p>QEMU counts each instruction of the guest: of all hosts, programs and wires, while the workload runs. "
        "A count leaves out caches and pipelines, so it is not a time.</p>"
    )
    versions = "; ".join(f"{name}: Linux {kernel['version']}" for name, kernel in cost.kernels.items())
    yield f'<p class="source">{escape(versions)}</p>'
    ending = display.ending(cost)
    yield f"<p><strong>{escape(ending[0].upper() + ending[1:])}.</strong></p>"
    yield from (f'<p class="missing">{escape(line)}</p>' for line in cost.unequal)
    for number, (claim, cases) in enumerate(groupby(cost.cases, key=lambda each: each.case.claim)):
        of_claim = list(cases)
        yield html.heading(f"claim-{number}", escape(claim))
        yield _table(cost, of_claim)
        for case in of_claim:
            for name, reason in cost.without(case).items():
                yield f'<p class="missing">{escape(case.name)}, kernel {escape(name)}: {html.prose(reason)}</p>'
            yield from _case(cost, case)
        for line in (*display.skipped(of_claim), *display.limited(of_claim)):
            yield f'<p class="missing">{html.prose(line)}</p>'


def _table(cost: KernelCost, cases: Sequence[CaseFigures]) -> str:
    units = list(dict.fromkeys((*(case.unit for case in cases), "segment", "system call")))
    rows = []
    for case in cases:
        for name in cost.kernels:
            if not case.case.counts.get(name):
                continue
            figure = cost.figure(case, name)
            row = [escape(case.name), escape(name), display.total(case.total(name))]
            row += [display.mean(case.per(name, unit)) for unit in units]
            row.append(f"±{100 * figure.scatter:.2f} %" if figure and len(case.seeds(name)) > 1 else DASH)
            if cost.function:
                row.append(display.mean(figure))
            if len(cost.kernels) > 1:
                row.append(display.changed(cost.change(case, name)) if name != cost.base else DASH)
            rows.append(row)
    if not rows:
        return ""
    head = ["Arm", "Kernel", "All", *(f"Per {unit}" for unit in units), "Seeds"]
    head += [f"{cost.function} per call"] if cost.function else []
    return html.table([*head, "Change"] if len(cost.kernels) > 1 else head, rows)


def _case(cost: KernelCost, case: CaseFigures) -> Iterator[str]:
    there = [name for name in cost.kernels if case.case.counts.get(name)]
    if not there:
        return
    base, new = there[0], there[-1]
    yield f"<h3>{escape(case.name)}, per {case.unit}</h3>"
    changes = case.changes(base, new)
    yield '<p class="sideways" aria-hidden="true">wider than the screen: scroll sideways →</p>'
    yield html.scrolled(_flame(changes, base, new), f"Functions of {case.name}")
    if base == new:
        yield f'<p class="key">Each width is a share of the instructions per {case.unit} on {escape(new)}.</p>'
        most = sorted(changes, key=lambda each: -each.new)[:_ROWS]
        rows = [[_code(each.name), display.number(each.new)] for each in most]
        yield html.folded("The functions with the most instructions", html.table(["Function", new], rows))
        return
    yield (
        f'<p class="key">Each width is a share of the instructions per {case.unit} on {escape(new)}.'
        f'<span class="swatch more"></span>more than on {escape(base)}<span class="swatch less"></span>fewer</p>'
    )
    head = [*there, "Change"]
    areas = [case.areas(name) for name in there]
    names = sorted(dict.fromkeys(name for of in areas for name in of), key=lambda name: -areas[-1].get(name, 0.0))
    rows = [[escape(name), *_numbers(name, areas)] for name in names]
    yield html.folded("The areas", html.table(["Area", *head], rows))
    functions = [case.functions(name) for name in there]
    rows = [[_code(each.name), *_numbers(each.name, functions)] for each in changes[:_ROWS]]
    yield html.folded("The functions that changed most", html.table(["Function", *head], rows))


def _numbers(name: str, of: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the cells of a function or an area: its instructions on each kernel, and the change."""
    numbers = [each.get(name, 0.0) for each in of]
    return [*map(display.number, numbers), display.by(FunctionChange(name, numbers[0], numbers[-1]))]


def _code(function: str) -> str:
    return f"<code>{escape(display.named(function))}</code>"


def _flame(changes: Sequence[FunctionChange], base: str, new: str) -> str:
    """Return two rows: areas, and the functions of each area below it, both as wide as their instructions."""
    total = sum(each.new for each in changes) or 1.0
    areas: dict[str, list[FunctionChange]] = {}
    for each in changes:
        areas.setdefault(area(each.name), []).append(each)
    parts = []
    for name, functions in sorted(areas.items(), key=lambda item: -sum(each.new for each in item[1])):
        of = FunctionChange(name, sum(each.base for each in functions), sum(each.new for each in functions))
        if not of.new:
            continue
        large = [each for each in functions if each.new >= _LEAST * total]
        small = [each for each in functions if each.new < _LEAST * total]
        shown = sorted(large, key=lambda each: -each.new)
        if small:
            rest = f"{len(small)} more"
            shown.append(FunctionChange(rest, sum(each.base for each in small), sum(each.new for each in small)))
        cells = "".join(_cell(each, of.new, total, base, new) for each in shown if each.new)
        parts.append(
            f'<div class="area" style="width:{100 * of.new / total:.3f}%">{_cell(of, of.new, 0.0, base, new)}'
            f'<div class="functions">{cells}</div></div>'
        )
    return f'<div class="flame">{"".join(parts)}</div>'


def _cell(each: FunctionChange, of: float, total: float, base: str, new: str) -> str:
    ratio = each.by / each.base if each.base else 1.0
    kind = "" if base == new or not each.by else "more" if each.by > 0 else "less"
    wide = "wide " if total and each.new / total > 0.06 else ""
    much = 0.0 if not kind else min(1.0, abs(ratio) / _FULL) * 80
    name = display.named(each.name) if each.new / (total or of) >= _NAMED else ""
    said = f"{display.named(each.name)}: {display.number(each.new)}"
    if base != new:
        said += f" on {new}, {display.number(each.base)} on {base} ({display.by(each)})"
    return (
        f'<div class="{wide}cell {kind}" style="width:{100 * each.new / of:.3f}%;--much:{much:.0f}%" '
        f'title="{escape(said)}">{escape(name)}</div>'
    )
