"""Do what the lab does for its users, one function each: the command line and notebooks (`import lab`) share them.

What takes long to import is imported by the function that needs it: a command should start at once.
"""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from lab.errors import InputError, LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distributed import Client

    from lab.comparison.compare import ClaimChange
    from lab.comparison.page import Changes
    from lab.record.store import Store
    from lab.report.article import Article
    from lab.report.claims import Claims
    from lab.report.overview import Overview
    from lab.runner.plan import Settings
    from lab.usecases.baselines import Baseline
    from lab.usecases.bisection import Bisection
    from lab.usecases.bundling import Bundled
    from lab.usecases.campaign import Campaign, ShardRun
    from lab.usecases.running import Asked, Elsewhere, Judgement
    from lab.usecases.seeding import Seeds
    from lab.usecases.sharing import Added
    from lab.usecases.verification import Verification
    from lab.verdict.judged import JudgedClaim

__all__ = [
    "article",
    "articles",
    "bisect",
    "bundle",
    "compare",
    "load",
    "merge",
    "plan",
    "push",
    "regress",
    "run",
    "run_seeds",
    "run_shard",
    "save_baseline",
    "verify",
]

Folder = Path | str | None


def run(
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    seed: int = 1,
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
    bundle: Folder = None,
    store: str | None = None,
    cluster: str | Client | None = None,
) -> Claims:
    """Run and judge claims: ids, articles or FILE.py. Without any, run all claims.

    What the store has is not run again. The options are those of `lab run`; `bundle` is its
    --from, a file whose kernel and userland are used. Records go to the store `results`; unless
    given, to LAB_RESULTS, else to results/ of the current directory. What the shared `store` (a URL or a folder) has is
    taken from there; what is left runs on the `cluster`, named as for `lab run --cluster`, or a Dask `Client` of your
    own, which stays open. A trial that fails makes its claim `invalid`, one that cannot be run here `skipped`. Raises
    InputError, SpecError (with every mistake in the files), MachineError.
    """
    from lab.kernel import Budget
    from lab.spec import find
    from lab.usecases import running

    experiments = find.find(map(str, claims))
    settings = _settings(kernel, on, clock, seed, repeat, fabric, userland, bundle)
    limits = Budget(wall=budget, stall=stall)
    done = running.run(experiments, settings, _written(results), jobs, limits, _elsewhere(store, cluster, bundle))
    return _claims(done.judged, done.errors)


def run_seeds(
    seeds: Sequence[int],
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
    bundle: Folder = None,
    store: str | None = None,
    cluster: str | Client | None = None,
) -> Seeds:
    """Run and judge claims as `run` does, with each of these seeds, and say which verdicts depend on the seed.

    A claim of several samples takes as many seeds for each. Raises what `run` raises.
    """
    from lab.kernel import Budget
    from lab.spec import find
    from lab.usecases import seeding

    experiments = find.find(map(str, claims))
    settings = _settings(kernel, on, clock, 1, repeat, fabric, userland, bundle)
    limits = Budget(wall=budget, stall=stall)
    return seeding.run(
        experiments, settings, seeds, _written(results), jobs, limits, _elsewhere(store, cluster, bundle)
    )


def plan(
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    seed: int = 1,
    seeds: Sequence[int] | None = None,
    repeat: int = 1,
    results: Folder = None,
    bundle: Folder = None,
) -> Campaign:
    """Say which trials `run`, or `run_seeds` with `seeds`, would perform, and what they cost. Runs nothing.

    Raises what `run` raises.
    """
    from lab.usecases import campaign

    asked = _asked(claims, _settings(kernel, on, clock, seed, repeat, fabric, userland, bundle), seeds)
    return campaign.campaign(asked, _written(results))


def run_shard(
    shard: str,
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    seed: int = 1,
    seeds: Sequence[int] | None = None,
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
    bundle: Folder = None,
    store: str | None = None,
    cluster: str | Client | None = None,
    plan: Path | str | None = None,
) -> ShardRun:
    """Run one part, "3/16" say, of the trials that `run`, or `run_seeds` with `seeds`, would perform; judge nothing.

    All parts together are complete, and no trial is in two of them. They are balanced by the model of costs, or by the
    file `plan`, which `lab plan --json` printed. Raises what `run` raises.
    """
    from lab.kernel import Budget
    from lab.runner.shard import Shard
    from lab.usecases import campaign

    part = Shard.parse(shard)
    asked = _asked(claims, _settings(kernel, on, clock, seed, repeat, fabric, userland, bundle), seeds)
    costs = campaign.read_costs(Path(plan)) if plan else {}
    limits = Budget(wall=budget, stall=stall)
    return campaign.run_shard(asked, part, costs, _written(results), jobs, limits, _elsewhere(store, cluster, bundle))


def merge(*folders: str | Path, results: Folder = None) -> Added:
    """Add the records of other stores to the store `results`, with every byte hashed again.

    Raises InputError when a folder is no store, MachineError when the disk is full.
    """
    from lab.usecases import sharing

    if not folders:
        raise InputError("name the stores whose records are to be added")
    return sharing.merge([Path(folder) for folder in folders], _written(results))


def push(target: str | Path, results: Folder = None) -> Added:
    """Write the records of the store `results` as archives into the folder `target`: a shared store.

    Raises InputError when there is no record, MachineError when the disk is full.
    """
    from lab.usecases import sharing

    return sharing.push(_read(results), Path(target))


def load(*claims: str | Path, kernel: str | None = None, clock: str | None = None, results: Folder = None) -> Claims:
    """Judge claims (ids, articles or FILE.py; all when none is named) by the records in `results`. Runs nothing.

    When there are records on several kernels, the newest kernel counts unless one is named (name, version or id); of
    both clocks, the virtual one. Without `results` the store is LAB_RESULTS, else results/ of the current directory or
    of the project. Raises InputError when a claim is unknown, SpecError when its files have a mistake.
    """
    from lab.spec import find
    from lab.verdict.judged import judge_stored, records_on

    store = _store(results)
    return _claims(judge_stored(find.find(map(str, claims)), records_on(kernel, clock, store), store.predictions))


def article(name: str, results: Folder = None) -> Article:
    """Return an article as its page shows it: `load(name)` with its title and author.

    Raises InputError when the article is unknown, SpecError when its files have a mistake.
    """
    from lab.report.article import Article

    return Article.told(load(name, results=results))


def articles(results: Folder = None) -> Overview:
    """Return all articles, as the index shows them."""
    from lab.report.article import Article
    from lab.report.overview import Overview

    groups = groupby(load(results=results), key=lambda claim: claim.article)
    return Overview(tuple(Article.told(claims) for _, claims in groups))


def verify(results: Folder = None, jobs: int | None = None, budget: float = 900.0, sample: float = 1.0) -> Verification:
    """Run the recorded trials of a store, or of a bundle's file, again, here, and say which bytes differ.

    `sample` is the part of them that chance picks, another one every time; every record is hashed again whatever it is.
    Raises InputError when there is no record, MachineError when the machine cannot run any, BundleError for a file that
    is no bundle or a damaged one.
    """
    from lab.kernel import Budget
    from lab.usecases import verification

    found, limits = _read(results), Budget(wall=budget)
    if found.is_file():
        return verification.verify_bundle(found, jobs, limits, sample)
    return verification.verify(found, jobs, limits, sample)


def bundle(out: str | Path, *claims: str | Path, results: Folder = None, report: Folder = None) -> Bundled:
    """Write claims (all when none is named), with all that it takes to run them again, into the one file `out`.

    It holds their records in `results`, the predictions, the kernels and userlands that the trials ran on, experiments,
    topologies and notebooks, the pages in the folder `report`, and a Python that starts the lab. Raises InputError
    without records, or when `out` exists; MachineError when a kernel is no longer here or the disk is full.
    """
    from lab.building import shown
    from lab.spec import find
    from lab.usecases import bundling

    pages = None if report is None else Path(report)
    if pages is not None and not pages.is_dir():
        raise InputError(f"{pages} is no folder of pages: `lab report` makes one")
    with shown() as progress:
        return bundling.bundle(find.find(map(str, claims)), _read(results), pages, Path(out), progress)


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
    kernels, stores and interest that are not named are that command's. Of a claim that one side alone has records of,
    nobody can tell. Raises InputError, SpecError, and Incomparable when an experiment changed in between.
    """
    from lab.comparison.compare import INTEREST
    from lab.comparison.compare import compare as changes
    from lab.comparison.page import Changes
    from lab.report.notebooks import compared_there
    from lab.spec import find
    from lab.verdict.judged import judge_stored, records_on

    there = compared_there()
    declared = find.find(map(str, claims))

    def judged(kernel: str | None, folder: Folder) -> tuple[JudgedClaim, ...]:
        store = _store(folder)
        return judge_stored(declared, records_on(kernel, None, store), store.predictions)

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
    experiments, limits, store = find.find(map(str, claims)), Budget(wall=budget), _written(results)
    matters = INTEREST if interest is None else interest
    if baseline is not None:
        settings = _settings(new, on, clock, seed, repeat, userland=userland)
        before = [claim for claim in baselines.judged(experiments, baseline, store) if claims or claim.records]
        done = running.run([claim.declared for claim in before], settings, store, jobs, limits)
        return _compared(changes(before, done.judged, matters), done)
    pair = [_settings(kernel, on, clock, seed, repeat, userland=userland) for kernel in (base, new)]
    both = [(experiments, settings) for settings in pair]
    then, now = running.run_beside(both, store, jobs, limits, together=not stored)
    return _compared(changes(then.judged, now.judged, matters), then, now)


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

    return baselines.save(find.find(map(str, claims)), choose(on, kernel), seed, _read(results), name)


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
        return bisection.bisect(search, Path(tree), good, bad, _written(results))


def _claims(judged: Iterable[JudgedClaim], errors: tuple[LabError, ...] = ()) -> Claims:
    from lab.report.claim import Claim
    from lab.report.claims import Claims
    from lab.report.notebooks import in_report

    return Claims(tuple(Claim(claim, in_report()) for claim in judged), errors)


def _compared(found: tuple[ClaimChange, ...], *done: Judgement) -> Changes:
    """Return what was found; raise what the first trial that failed ended with when no claim has records of both."""
    from lab.comparison.page import Changes

    if any(each.was_compared for each in found):
        return Changes(found)
    errors = [error for judgement in done for error in judgement.errors]
    raise errors[0] if errors else InputError("no claim ran on both kernels: there is nothing to compare")


def _settings(
    kernel: str | None,
    on: str,
    clock: str | None,
    seed: int,
    repeat: int,
    fabric: str = "netlink",
    userland: str = "sealed",
    bundle: Folder = None,
) -> Settings:
    from lab.kernel import choose
    from lab.runner.plan import Settings
    from lab.spec.clock import clock_of
    from lab.usecases import userlands

    asked = None if clock is None else clock_of(clock)
    if bundle is not None:
        from lab.usecases import unbundling

        if on != "uml":
            raise InputError(f"--on {on}: the kernels of a bundle are user-mode Linux, --on uml")
        found = unbundling.ready(Path(bundle))
        own = found.kernel(kernel)
        return Settings(own, asked or own.clocks[0], seed, repeat, fabric, found.userland(userland))
    chosen = choose(on, kernel, asked)
    return Settings(chosen, asked or chosen.clocks[0], seed, repeat, fabric, userlands.chosen(userland, chosen.on))


def _asked(claims: Sequence[str | Path], settings: Settings, seeds: Sequence[int] | None) -> list[Asked]:
    from lab.spec import find
    from lab.usecases import seeding

    experiments = find.find(map(str, claims))
    return [(experiments, settings)] if seeds is None else seeding.asked(experiments, settings, seeds)


def _elsewhere(store: str | None, cluster: str | Client | None, bundle: Folder) -> Elsewhere:
    from lab.record.shared import shared_store
    from lab.usecases.running import Elsewhere

    if cluster and bundle:
        raise InputError("--cluster sends this machine's own kernels: those of a bundle (--from) run here alone")
    return Elsewhere(shared_store(store) if store else None, cluster)


def _written(results: Folder) -> Path:
    """Return the store that a run writes to."""
    from lab.report.notebooks import RESULTS

    return Path(results or os.environ.get(RESULTS) or "results")


def _read(results: Folder) -> Path:
    """Return the store to read: the project's, too, when the current directory has none."""
    from lab.report.notebooks import RESULTS
    from lab.spec import find

    given = results or os.environ.get(RESULTS)
    likely = [Path(given)] if given else [root / "results" for root in find.roots()]
    return next((path for path in likely if path.exists()), likely[0])


def _store(results: Folder) -> Store:
    from lab.record.store import Store

    return Store(_read(results))
