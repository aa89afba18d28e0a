"""Judge claims and show articles from the records in a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.answers import as_claims
from lab.app.extension import hooks
from lab.app.options import Folder, named_clock, on_kernel, store_of
from lab.errors import InputError
from lab.spec.errors import Problem, SpecError

if TYPE_CHECKING:
    from lab import metric
    from lab.record.record import Record
    from lab.report.article import Article
    from lab.report.claims import Claims
    from lab.report.overview import Overview
    from lab.spec.loaded import LoadedExperiment


def load(*claims: str | Path, kernel: str | None = None, clock: str | None = None, results: Folder = None) -> Claims:
    """Return claims (ids, articles or FILE.py; default: all), judged from the records in `results`. No trial runs.

    If there are records on several kernels, the function uses those on `kernel` (name, version or id; default: the
    newest). If there are records of both clocks, it uses those of `clock` (default: virtual). The default store is
    LAB_RESULTS, else results/ in the project. Raises InputError if a claim, the kernel, the clock or the store is
    unknown, and SpecError for mistakes in a claim's files.
    """
    from lab.spec import find
    from lab.verdict.judged import judge_stored

    store, of = store_of(results), None if clock is None else named_clock(clock)
    wanted = find.find(map(str, claims))
    return as_claims(judge_stored(wanted, on_kernel(store, kernel), store.predictions, kernel, of))


def capture(claim: str, arm: str | None = None, results: Folder = None) -> metric.Capture:
    """Return the capture of an arm. Default: the first arm that has a capture.

    Raises InputError if no trial of the arm left a capture, and the errors of `load`.
    """
    from lab.metric import Capture

    return Capture(capture_file(claim, arm, results))


def capture_file(claim: str, arm: str | None = None, results: Folder = None) -> Path:
    """Return the path of the file that `capture` reads."""
    found = load(claim, results=results)
    if len(found) != 1:
        raise InputError(f"{claim} is not a single claim; name one of {', '.join(each.id for each in found)}")
    tested = found[0].only(arm).tested
    for each in tested:
        if each.record is not None and each.capture:
            return each.record.path(each.capture)
    of = f"arm '{arm}' of {claim}" if arm else claim
    if any(each.record for each in tested):
        raise InputError(f"{of} ran, but none of its probes captures packets; add Capture(...) to its probes")
    raise InputError(f"{store_of(results).root} has no capture of {of}; run `lab run {claim}`")


def follow(*claims: str | Path, results: Folder = None) -> Claims:
    """Return `load(*claims)`, with each claim's verdicts on all kernels that have records in the store.

    Raises the errors of `load`, and RecordError or CaptureError for a damaged record.
    """
    found, problems = follow_readable(*claims, results=results)
    if problems:
        raise SpecError(problems)
    return found


def follow_readable(*claims: str | Path, results: Folder = None) -> tuple[Claims, tuple[Problem, ...]]:
    """Return `follow(*claims)` without the claims whose files have mistakes, and these mistakes.

    Raises InputError for an unknown claim, and RecordError or CaptureError for a damaged record.
    """
    from lab.spec import find
    from lab.verdict.judged import judge_stored

    store = store_of(results)
    loaded, problems = find.readable(map(str, claims))
    judged = judge_stored(loaded, store, store.predictions)
    strips = next(hooks("strips"), None)
    return as_claims(judged, strips=strips(judged, store) if strips else {}), problems


def runs(name: str, results: Folder = None) -> tuple[Record, ...]:
    """Return the record whose address starts with these digits, or the records of a run that belongs to no experiment.

    An experiment's claim or article has no runs here: `follow` judges it.
    """
    from lab.app import recorded
    from lab.spec import find

    return () if find.is_known(name) else recorded.named(name, store_of(results))


def article(name: str | Sequence[str], results: Folder = None) -> Article:
    """Return an article for its page: `follow(name)` with the title and the author.

    Instead of a name, a sequence has the files of the article's experiments. Raises InputError if the article is
    unknown, and SpecError for mistakes in its files.
    """
    from lab.report.article import Article

    return Article.told(follow(*([name] if isinstance(name, str) else name), results=results))


def pages(claims: Iterable[Path | str]) -> tuple[list[str], dict[str, dict[str, Path]]]:
    """Return the articles of these claims, articles, files and packs, for a report.

    The second result has the experiment files that are not in the project, a pack or the lab, by article and claim.
    Raises InputError for an unknown claim, and SpecError for mistakes in files.
    """
    from lab.spec import find

    known = find.experiments()
    names: dict[str, None] = {}
    elsewhere: dict[str, dict[str, Path]] = {}
    for each in map(str, claims):
        if any(claim.startswith(f"{each}/") for claim in known):
            names[each] = None
            continue
        for loaded in find.find([each]):
            article, _, claim = loaded.id.partition("/")
            if known.get(loaded.id) == loaded.path:
                names[article] = None
            else:
                elsewhere.setdefault(article, {})[claim] = loaded.path
    return [*names], elsewhere


def articles(results: Folder = None) -> Overview:
    """Return all articles for the index and the sources in packs for which the store has records.

    In a notebook that becomes a report's page, these are the articles that have a page in that report. Trials that
    earlier notebooks of the report measured are not measured again.
    """
    from lab.report.article import Article
    from lab.report.notebooks import already_measured, articles_there
    from lab.report.overview import Overview
    from lab.spec import find
    from lab.verdict.judged import judge_stored

    store, there, known = store_of(results), articles_there(), already_measured()
    records = tuple(store)

    def told(wanted: Iterable[LoadedExperiment]) -> tuple[Article, ...]:
        shown = [each for each in wanted if there is None or each.id.split("/")[0] in there]
        claims = as_claims(judge_stored(shown, records, store.predictions, measured=known))
        return tuple(Article.told(each) for _, each in groupby(claims, key=lambda claim: claim.article))

    own = find.find()
    run = (store.articles() if there is None else {*there}) - {each.id.split("/")[0] for each in own}
    others = [name for name in dict.fromkeys(claim.split("/")[0] for claim in find.experiments()) if name in run]
    return Overview(told(own), told(find.find(others)) if others else ())
