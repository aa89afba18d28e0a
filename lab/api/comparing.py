"""Say what changed from one kernel to another, and since which commit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.api.answers import as_changes
from lab.api.options import Folder, reading_from, settings_of, store_of, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.comparison.atlas import Atlas
    from lab.comparison.page import Changes
    from lab.usecases.baselines import Baseline
    from lab.usecases.bisection import Bisection
    from lab.verdict.judged import JudgedClaim

__all__ = ["atlas", "bisect", "compare", "regress", "save_baseline"]


def compare(
    base: str | None = None,
    new: str | None = None,
    *claims: str | Path,
    results: Folder = None,
    against: Folder = None,
    interest: float | None = None,
) -> Changes:
    """Say what changed in claims (all when none is named) from the kernel `base` to `new` (name, version or id).

    The records are those of `load`; `base`'s are in the store `against`, if given. A figure whose relative change is at
    most `interest` (0.005 unless given) counts as the same. In the page that `lab compare` or `lab regress` writes,
    claims, kernels, stores and interest that are not named are that command's. Of a claim that one side alone has
    records of, nobody can tell. Raises InputError, SpecError, and Incomparable when an experiment changed in between.
    """
    from lab.comparison.compare import INTEREST
    from lab.comparison.compare import compare as changes
    from lab.comparison.page import Changes
    from lab.report.notebooks import compared_there
    from lab.spec import find
    from lab.verdict.judged import judge_stored

    there = compared_there()
    declared = find.find(map(str, claims or there.claims))

    def judged(kernel: str | None, folder: Folder) -> tuple[JudgedClaim, ...]:
        store = store_of(folder)
        return judge_stored(declared, store, store.predictions, kernel)

    before = judged(base or there.base, against or there.against or results)
    matters = next((each for each in (interest, there.interest) if each is not None), INTEREST)
    after = judged(new or there.new, results)
    known = {claim.declared.id for claim in (*before, *after) if claim.records}
    return Changes(changes([claim for claim in before if claim.declared.id in known], after, matters))


def regress(
    base: str | None = None,
    new: str | None = None,
    *claims: str | Path,
    on: str = "uml",
    baseline: str | None = None,
    clock: str | None = None,
    userland: str = "sealed",
    seed: int = 1,
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stored: bool = False,
    interest: float | None = None,
    results: Folder = None,
) -> Changes:
    """Run claims (all when none is named) on two kernels and say what changed. What the store has is not run again.

    Real-time trials are, unless the store has those of both kernels from one command, which mixed them; or `stored`,
    which compares what there is. A figure whose relative change is at most `interest` (0.005 unless given) counts as
    the same. With a kept `baseline`, its records are what `new` (None: the usual kernel) is compared with, no `base` is
    named, and all claims are those that it holds. A claim whose trials fail on one kernel is in the answer, with the
    reason. Raises InputError, SpecError, MachineError, and Incomparable when an experiment changed since the baseline.
    """
    from lab.comparison.compare import INTEREST
    from lab.comparison.compare import compare as changes
    from lab.kernel import Budget
    from lab.spec import find
    from lab.usecases import baselines, running

    if (base is None) != (baseline is not None):
        raise InputError("regress compares two kernels, or a baseline and one kernel")
    experiments, limits, store = find.find(map(str, claims)), Budget(wall=budget), writing_to(results)
    matters = INTEREST if interest is None else interest
    if baseline is not None:
        settings = settings_of(new, on, clock, seed, repeat, userland=userland)
        before = [claim for claim in baselines.judged(experiments, baseline, store) if claims or claim.records]
        done = running.run([claim.declared for claim in before], settings, store, jobs, limits)
        return as_changes(changes(before, done.judged, matters), done)
    pair = [settings_of(kernel, on, clock, seed, repeat, userland=userland) for kernel in (base, new)]
    both = [(experiments, settings) for settings in pair]
    then, now = running.run_beside(both, store, jobs, limits, together=not stored)
    return as_changes(changes(then.judged, now.judged, matters), then, now)


def atlas(
    folder: str | Path,
    *claims: str | Path,
    kernels: Sequence[str] = (),
    scripts: Sequence[str] | None = ("*",),
    tree: str | Path | None = None,
    seed: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stored: bool = False,
    results: Folder = None,
) -> Atlas:
    """Write pages to `folder` that say what changed in TCP from each kernel to the next, and what shows it.

    Without `claims`, all of the articles are run, and those that show a change that is known; without `kernels`, the
    newest of each series that is built here. `scripts` are packetdrill's, named as for `packetdrill`, of the newest
    kernel's source; None leaves them out. `tree` is a kernel's git tree, which has more to say of commits. With
    `stored` nothing runs. Raises InputError, SpecError, MachineError, Interrupted.
    """
    from dataclasses import replace

    from lab.building import shown
    from lab.kernel import Budget
    from lab.kernel.uml.cache import series
    from lab.packetdrill import scripts as files
    from lab.usecases import atlas as making

    names = kernels or [each.id for each in making.kernels()]
    settings = [settings_of(name, "uml", None, seed, 1) for name in names]
    experiments, store = making.wanted([*map(str, claims)]), writing_to(results)
    known = making.commits(Path(tree)) if tree else {}
    found: tuple[files.Script, ...] = ()
    if scripts is not None and settings:
        with shown() as progress:
            found = files.find(scripts, series(settings[-1].kernel.name), progress)
    if stored:
        made = making.kept(experiments, found, settings, reading_from(results))
    else:
        made = making.performed(experiments, found, settings, store, jobs, Budget(wall=budget))
    made = replace(made, commits=known)
    making.write(made, Path(folder))
    return made


def save_baseline(
    name: str,
    *claims: str | Path,
    kernel: str | None = None,
    on: str = "uml",
    seed: int = 1,
    results: Folder = None,
) -> Baseline:
    """Keep the records that the store has of claims on a kernel as the baseline `name`, for `regress`.

    Raises InputError when a baseline has that name already, or when there is nothing to keep.
    """
    from lab.kernel import choose
    from lab.spec import find
    from lab.usecases import baselines

    return baselines.save(find.find(map(str, claims)), choose(on, kernel), seed, reading_from(results), name)


def bisect(
    claim: str | Path,
    tree: str | Path,
    good: str,
    bad: str,
    *,
    seed: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    results: Folder = None,
) -> Bisection:
    """Find the commit between two revisions of a kernel `tree` that changed a claim.

    It works in a scratch folder of `results`. Raises InputError when a revision is unknown or the claim is the same on
    both, BuildFailed when one of the two does not build.
    """
    from lab.building import shown
    from lab.kernel import Budget
    from lab.spec import find
    from lab.usecases import bisection

    experiments = find.find([str(claim)])
    if len(experiments) != 1:
        raise InputError(f"{claim} is an article: bisect one of {', '.join(each.id for each in experiments)}")
    with shown() as progress:
        search = bisection.Search(experiments[0], seed, jobs, Budget(wall=budget), progress)
        return bisection.bisect(search, Path(tree), good, bad, writing_to(results))
