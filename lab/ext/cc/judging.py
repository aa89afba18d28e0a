"""Run the judge's cases with a congestion control, and give points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from lab.app import running
from lab.app.options import RunOptions
from lab.errors import InputError, MachineError
from lab.ext.cc import flows
from lab.ext.cc.card import Card, CaseScore, Mixture
from lab.ext.cc.cases import JudgeCase, JudgePack
from lab.machine.kernel import GuestTimeout
from lab.runner.plan import Settings
from lab.spec.case import Case
from lab.spec.errors import instead
from lab.units import Value
from lab.verdict import Result
from lab.verdict.judged import JudgedClaim

SEEDS = 3  # of the full card


def judged(
    pack: JudgePack,
    cases: Sequence[JudgeCase],
    control: str,
    settings: Settings,
    options: RunOptions,
    quick: bool,
    rivals: Sequence[str],
) -> Card:
    """Return the card of a congestion control in these cases. Run missing trials. Raises the errors of a run."""
    seeds = 1 if quick else SEEDS
    studies = [flows.study_of(each.study, control, seeds, each.varies and not quick) for each in cases]
    if rivals:
        studies.append(flows.mixture_of(pack.mixture, control, tuple(rivals), seeds))
    done = running.run(studies, settings, options, tells=False)
    for error in done.errors:
        if error.exit_code == MachineError.exit_code or isinstance(error, GuestTimeout):
            raise error  # the machine failed, not the congestion control
    found = {claim.declared.id: claim for claim in done.judged}
    return Card(
        control=control,
        kernel=settings.kernel.describe(),
        is_quick=quick,
        seed=settings.seed,
        cases=tuple(_scored(each, control, found[each.name], settings.seed, seeds) for each in cases),
        mixtures=tuple(_mixture(control, rival, found[pack.mixture.id]) for rival in rivals),
        measured_on=pack.measured_on,
    )


def _scored(case: JudgeCase, control: str, claim: JudgedClaim, first: int, seeds: int) -> CaseScore:
    """Return a case's points. References have the same seeds if the first seed is 1, and otherwise all their seeds."""
    results = _results(claim, control)
    result, buffer = results[case.figure], _buffer(claim, control)
    missing = result.verdict
    known = {name: figures[: seeds if first == 1 else None] for name, figures in case.references.items()}
    references = {name: fmean(case.scale.points(each, buffer) for each in of) for name, of in known.items()}
    scored = CaseScore(case, result.measured, (), references=references, base=control)
    if missing is not None and missing.kind == "skipped":
        return replace(scored, why=missing.reason)
    if result.measured is None:
        return replace(scored, seeds=(0.0,) * seeds, why=missing.reason if missing else "no figure")
    return replace(
        scored,
        seeds=tuple(case.scale.points(each, buffer) for each in result.sample.values),
        others={name: each.measured for name, each in results.items() if name != case.figure and each.measured},
        paths=dict(_paths(case, control, claim)) if case.varies else {},
        records=tuple(record for record in claim.records if record.trial.arm == control),
    )


def _paths(case: JudgeCase, control: str, claim: JudgedClaim) -> Mapping[str, float | None]:
    """Return the points on each changed path that ran. A path on which the figure is missing has none."""
    found: dict[str, float | None] = {}
    for path in flows.PATHS:
        name = flows.path_arm(control, path)
        if result := _results(claim, name).get(case.figure):
            measured = result.measured
            found[path] = 0.0 if measured is None else case.scale.points(measured, _buffer(claim, name))
    return found


def _mixture(control: str, rival: str, claim: JudgedClaim) -> Mixture:
    results = _results(claim, f"{control}-against-{rival}")
    missing = next((each.verdict.reason for each in results.values() if each.verdict), "")
    return Mixture(rival, {name: each.measured for name, each in results.items() if each.measured}, missing)


def _results(claim: JudgedClaim, arm: str) -> Mapping[str, Result]:
    """Return an arm's results by the names of their figures."""
    return {result.figure: result for result in claim.result.results if result.arm == arm}


def _buffer(claim: JudgedClaim, arm: str) -> Value | None:
    case: Case = next(case for case in claim.cases if case.arm == arm)
    return flows.buffer_time(flows.forward(case.network))


def chosen(pack: JudgePack, text: str | None, quick: bool) -> Sequence[JudgeCase]:
    """Return the cases that a text names, separated with commas. Default: all, or the quick ones.

    A case's id is enough without its folder. Raises InputError for an unknown case.
    """
    if text is None:
        return [each for each in pack.cases if each.is_quick or not quick]
    known = {name: each for each in pack.cases for name in (each.name, each.name.partition("/")[2])}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise InputError(f"--case {name}: unknown case{instead(name, [each.name for each in pack.cases])}")
    wanted = {known[name].name for name in names}
    return [each for each in pack.cases if each.name in wanted]


def rivals(text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the congestion controls that a text names, separated with commas. Raises InputError."""
    names = tuple(dict.fromkeys(filter(None, (each.strip() for each in (text or "").split(",")))))
    if text is not None and not names:
        raise InputError("--against names no congestion control; use --against cubic,reno,bbr")
    for name in names:
        need(name, known, "--against ")
    return names


def need(control: str, known: Sequence[str], where: str = "") -> None:
    """Raise InputError if the kernel does not have the congestion control."""
    if control not in known:
        raise InputError(f"{where}{control}: the kernel has no such congestion control{instead(control, known)}")
