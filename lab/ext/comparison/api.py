"""Show how claims change from one kernel to another, and find the commits that caused the changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, RunOptions, on_kernel, reading_from, spread, store_of
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.app.running import Judgement
    from lab.ext.comparison.baselines import Baseline
    from lab.ext.comparison.compare import ClaimChange
    from lab.ext.comparison.page import Changes
    from lab.ext.comparison.unclaimed import RecordChange
    from lab.record.record import Record
    from lab.record.store import Store
    from lab.report.html import Html
    from lab.verdict.judged import JudgedClaim


def compare(
    base: str | None = None,
    new: str | None = None,
    *claims: str | Path,
    results: Folder = None,
    against: Folder = None,
    interest: float | None = None,
) -> Changes:
    """Return the changes of claims (default: all) from the kernel `base` to the kernel `new` (name, version or id).

    The function uses the same records as `load`; with `against`, the records on `base` come from that store. `compare`
    first hashes every file of the records. A relative change of at most `interest` (default: 0.005) counts as no
    change. In a page that `lab compare` or `lab regress` writes, the defaults for claims, kernels, stores and interest
    come from the command. A claim with records on only one side cannot be compared. Raises InputError for an unknown
    claim, kernel or store, and for records with altered files, which the message lists. Raises SpecError, and
    Incomparable if an experiment changed between the runs.
    """
    from lab.ext.comparison.commits import with_found
    from lab.ext.comparison.compare import INTEREST
    from lab.ext.comparison.compare import compare as changes
    from lab.ext.comparison.page import Changes
    from lab.record.identity import require_whole
    from lab.report.told import Compared, told
    from lab.spec import find
    from lab.verdict.judged import judge_stored

    page = told()
    there = page.compared if page else Compared()
    declared = find.find(map(str, claims or there.claims))

    def judged(kernel: str | None, folder: Folder) -> tuple[JudgedClaim, ...]:
        store = store_of(folder)
        records = on_kernel(store, kernel)
        found = judge_stored(declared, records, store.predictions, kernel)
        require_whole([*_records(found), *filter(_is_unreadable, records)])
        return found

    before = judged(base or there.base, against or there.against or results)
    matters = next((each for each in (interest, there.interest) if each is not None), INTEREST)
    after = judged(new or there.new, results)
    known = {claim.declared.id for claim in (*before, *after) if claim.records}
    found = changes([claim for claim in before if claim.declared.id in known], after, matters)
    store = store_of(results)
    return Changes(with_found(found, store.root), _history(found, after, store))


def compare_unclaimed(base: str | Path, new: str | Path) -> tuple[RecordChange, ...]:
    """Return the changes of trials that belong to no experiment, such as scripts' trials, between two stores.

    Raises InputError for an unknown store, and for records with altered files.
    """
    from lab.ext.comparison.unclaimed import compare, unclaimed
    from lab.record.identity import require_whole
    from lab.spec import find

    claims = find.experiments()
    before, after = (list(unclaimed(store_of(folder), claims)) for folder in (base, new))
    require_whole([*before, *after])
    return compare(before, after)


@spread(RunOptions, without=["kernel"])
def regress(
    base: str | None = None,
    new: str | None = None,
    *claims: str | Path,
    options: RunOptions,
    baseline: str | None = None,
    stored: bool = False,
    interest: float | None = None,
) -> Changes:
    """Run claims (default: all) on two kernels, and return the changes.

    Trials with a record in the store do not run again. Real-time trials run again, unless one command ran them on both
    kernels, interleaved. With `stored`, existing records are compared. A relative change of at most `interest`
    (default: 0.005) counts as the same. With a saved `baseline` instead of `base`, `new` (None: the default kernel) is
    compared with the baseline's records, and "all" means the claims in the baseline. A claim whose trials fail on one
    kernel is in the answer, with the reason. Raises InputError, SpecError, MachineError, and Incomparable if an
    experiment changed since the baseline.
    """
    from lab.app import running
    from lab.ext.comparison import baselines
    from lab.ext.comparison.commits import with_found
    from lab.ext.comparison.compare import INTEREST
    from lab.ext.comparison.compare import compare as changes
    from lab.record.identity import require_whole
    from lab.spec import find

    if (base is None) != (baseline is not None):
        raise InputError("regress compares two kernels, or a baseline and one kernel")
    experiments = find.find(map(str, claims))
    matters = INTEREST if interest is None else interest
    if baseline is not None:
        settings = replace(options, kernel=new).settings()
        before = [claim for claim in baselines.judged(experiments, baseline, options.folder) if claims or claim.records]
        done = running.run([claim.declared for claim in before], settings, options)
        require_whole(_records((*before, *done.judged)))
        return _shown(with_found(changes(before, done.judged, matters), options.folder), done)
    pair = [replace(options, kernel=each).settings() for each in (base, new)]
    if pair[0].kernel.id == pair[1].kernel.id:
        raise InputError(f"{base} and {new} are the same kernel, {pair[0].kernel.name}; name two different kernels")
    both = [(experiments, settings) for settings in pair]
    then, now = running.run_beside(both, options, together=not stored)
    require_whole(_records((*then.judged, *now.judged)))
    return _shown(with_found(changes(then.judged, now.judged, matters), options.folder), then, now)


def save_baseline(
    name: str,
    *claims: str | Path,
    kernel: str | None = None,
    on: str = "uml",
    seed: int = 1,
    results: Folder = None,
) -> Baseline:
    """Save the store's records of claims (default: all) on a kernel as the baseline `name`, for `regress`.

    Raises InputError if a baseline already has that name, or if there is no record to save.
    """
    from lab.ext.comparison import baselines
    from lab.machine.kernel import choose
    from lab.spec import find

    return baselines.save(find.find(map(str, claims)), choose(on, kernel), seed, reading_from(results), name)


def _shown(found: tuple[ClaimChange, ...], *done: Judgement) -> Changes:
    """Return the changes. If no claim has records on both kernels, raise the first failed trial's error."""
    from lab.ext.comparison.page import Changes

    if any(each.was_compared for each in found):
        return Changes(found)
    errors = [error for judgement in done for error in judgement.errors]
    raise errors[0] if errors else InputError("no claim ran on both kernels: there is nothing to compare")


def _history(found: Iterable[ClaimChange], judged: Iterable[JudgedClaim], store: Store) -> dict[str, Html]:
    """Return the strip of each changed claim that has records on more than these two kernels."""
    from lab.ext.comparison.digest import changed
    from lab.ext.comparison.lineage import follow
    from lab.ext.comparison.strip import strip

    shown = {each.claim for each in changed(found)}
    followed = follow([each for each in judged if each.declared.id in shown], store, store.predictions)
    return {name: strip(each) for name, each in followed.items() if len(each.claims) > 2}


def _records(judged: Iterable[JudgedClaim]) -> list[Record]:
    return [record for claim in judged for record in claim.records]


def _is_unreadable(record: Record) -> bool:
    """Return whether a record is so damaged that its trial is unknown, so that the record belongs to no claim."""
    from lab.record.record import RecordError

    try:
        _ = record.trial
    except RecordError:
        return True
    return False
