"""Answer from the records of a store: judge claims, show articles, verify trials, write a bundle."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from lab.api.answers import as_claims
from lab.api.options import Folder, reading_from, store_of
from lab.errors import InputError

if TYPE_CHECKING:
    from lab import metric
    from lab.report.article import Article
    from lab.report.claim import Claim
    from lab.report.claims import Claims
    from lab.report.overview import Overview
    from lab.usecases.bundling import Bundled
    from lab.usecases.verification import Verification

__all__ = ["article", "articles", "bundle", "capture", "follow", "load", "verify"]


def load(*claims: str | Path, kernel: str | None = None, clock: str | None = None, results: Folder = None) -> Claims:
    """Judge claims (ids, articles or FILE.py; all when none is named) by the records in `results`. Runs nothing.

    When there are records on several kernels, the newest kernel counts unless one is named (name, version or id); of
    both clocks, the virtual one. Without `results` the store is LAB_RESULTS, else results/ of the current directory or
    of the project. Raises InputError when a claim is unknown, SpecError when its files have a mistake.
    """
    from lab.spec import find
    from lab.verdict.judged import judge_stored

    store = store_of(results)
    return as_claims(judge_stored(find.find(map(str, claims)), store, store.predictions, kernel, clock))


def capture(claim: str, arm: str | None = None, results: Folder = None) -> metric.Capture:
    """Return the capture of an arm, the first one that has any unless named.

    Raises InputError when no trial of it left a capture, and as `load` does.
    """
    from lab.metric import Capture

    return Capture(capture_file(claim, arm, results))


def capture_file(claim: str, arm: str | None = None, results: Folder = None) -> Path:
    """Return the file of `capture`."""
    (found,) = load(claim, results=results)
    for each in found.tested:
        if each.record is not None and each.capture and arm in (None, each.case.arm):
            return each.record.path(each.capture)
    of = f"arm '{arm}' of {claim}" if arm else claim
    raise InputError(f"{store_of(results).root} has no capture of {of} (run `lab run {claim}`)")


def follow(*claims: str | Path, results: Folder = None) -> Claims:
    """Return `load(*claims)`, each claim with what became of it on every kernel that the store has records of.

    Raises as `load` does, and RecordError or CaptureError for a record that is damaged.
    """
    from lab.comparison import lineage
    from lab.comparison.strip import strip
    from lab.spec import find
    from lab.verdict.judged import judge_stored

    store = store_of(results)
    judged = judge_stored(find.find(map(str, claims)), store, store.predictions)
    found = lineage.follow(judged, store, store.predictions)
    return as_claims(judged, strips={name: strip(each) for name, each in found.items()})


def article(name: str, results: Folder = None) -> Article:
    """Return an article as its page shows it: `follow(name)` with its title and author.

    Raises InputError when the article is unknown, SpecError when its files have a mistake.
    """
    from lab.report.article import Article

    return Article.told(follow(name, results=results))


def articles(results: Folder = None) -> Overview:
    """Return all articles, as the index shows them, and the sources in packs that the store has records of."""
    from lab.report.article import Article
    from lab.report.overview import Overview
    from lab.spec import find

    def told(claims: Iterable[Claim]) -> tuple[Article, ...]:
        return tuple(Article.told(each) for _, each in groupby(claims, key=lambda claim: claim.article))

    own = load(results=results)
    run = store_of(results).articles() - {claim.article for claim in own}
    others = [name for name in dict.fromkeys(claim.split("/")[0] for claim in find.experiments()) if name in run]
    return Overview(told(own), told(load(*others, results=results)) if others else ())


def verify(results: Folder = None, jobs: int | None = None, budget: float = 900.0, sample: float = 1.0) -> Verification:
    """Run the recorded trials of a store, or of a bundle's file, again, here, and say which bytes differ.

    `sample` is the part of them that chance picks, another one every time; every record is hashed again whatever it is.
    Raises InputError when there is no record, MachineError when the machine cannot run any, BundleError for a file that
    is no bundle or a damaged one.
    """
    from lab.kernel import Budget
    from lab.usecases import verification

    found, limits = reading_from(results), Budget(wall=budget)
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
        return bundling.bundle(find.find(map(str, claims)), reading_from(results), pages, Path(out), progress)
