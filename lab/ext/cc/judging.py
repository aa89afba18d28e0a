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
from lab.report.wording import listed
from lab.runner.plan import Settings
from lab.spec.case import Case
from lab.spec.errors import instead
from lab.units import UnitError, Value
from lab.verdict import Result
from lab.verdict.judged import JudgedClaim

SEEDS = 3  # of the full card
NONE_SUCH = "this kernel has no congestion control"  # what a guest says


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
        if error.exit_code == MachineError.exit_code or isinstance(error, GuestTimeout) or NONE_SUCH in str(error):
            raise error  # the congestion control had no trial
    found = {claim.declared.id: claim for claim in done.judged}
    return Card(
        control=control,
        kernel=settings.kernel.describe(),
        is_quick=quick,
        seed=settings.seed,
        cases=tuple(_scored(each, control, found[each.name], settings.seed, seeds) for each in cases),
        mixtures=tuple(_mixture(control, rival, found[pack.mixture.id]) for rival in rivals),
        measured_on=pack.measured_on,
        scales=pack.scales,
    )


def _scored(case: JudgeCase, control: str, claim: JudgedClaim, first: int, seeds: int) -> CaseScore:
    """Return a case's points. References without a figure for each of the same seeds are left out."""
    results = _results(claim, control)
    result, buffer = results[case.figure], _buffer(claim, control)
    missing = result.verdict
    known = {name: tuple(_points(case, each, buffer) for each in of) for name, of in case.references.items()}
    same = {name: of[first - 1 : first - 1 + seeds] for name, of in known.items() if first > 0}
    references = {name: fmean(of) for name, of in same.items() if len(of) == seeds}
    scored = CaseScore(case, result.measured, (), references=references, known=known, base=control)
    if missing is not None and missing.kind == "skipped":
        return replace(scored, why=missing.reason)
    if result.measured is None:
        return replace(scored, seeds=(0.0,) * seeds, why=missing.reason if missing else "no figure")
    points = {seed: _points(case, figure, buffer) for (seed, _), figure in result.sample.figures.items()}
    wanted = range(first, first + seeds)
    lost = [str(seed) for seed in wanted if seed not in points]
    return replace(
        scored,
        seeds=tuple(points.get(seed, 0.0) for seed in wanted),
        why=f"no figure with {'seed' if len(lost) == 1 else 'seeds'} {listed(lost)}" if lost else "",
        others={name: each.measured for name, each in results.items() if name != case.figure and each.measured},
        paths=dict(_paths(case, control, claim)) if case.varies else {},
        records=tuple(record for record in claim.records if record.trial.arm == control),
    )


def _points(case: JudgeCase, figure: Value, buffer: Value | None) -> float:
    """Return a figure's points. Raises InputError if an experiment's own metric has another unit than the scale."""
    try:
        return case.scale.points(figure, buffer)
    except UnitError as error:
        raise InputError(f"{case.name}: {error}; change the scale") from None


def _paths(case: JudgeCase, control: str, claim: JudgedClaim) -> Mapping[str, float]:
    """Return the points on each changed path that ran. A path on which the figure is missing earns 0 points."""
    found = {}
    for path in flows.PATHS:
        name = flows.path_arm(control, path)
        if result := _results(claim, name).get(case.figure):
            measured = result.measured
            found[path] = 0.0 if measured is None else _points(case, measured, _buffer(claim, name))
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
