"""A network lab whose results anyone can reproduce to the byte. `import lab` is the interface of notebooks.

Nothing is imported before it is asked for: guests import this package too, and a trial starts with that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from lab.record import Store
    from lab.regress.page import Changes
    from lab.report.article import Article, Overview
    from lab.report.claims import Claims
    from lab.runner import run

    Folder = Path | str | None

__all__ = ["article", "articles", "compare", "load", "run"]


def load(*claims: str | Path, kernel: str | None = None, clock: str | None = None, results: Folder = None) -> Claims:
    """Claims (ids, articles or FILE.py, all of them without any) judged by the records in `results`. Runs nothing.

    Of records on several kernels the newest counts, unless one is named (name, version or id); of both clocks the
    virtual one. Without `results`, as LAB_RESULTS says; else results/ of the current directory or of the project.
    Raises InputError for an unknown claim, SpecError for a mistake in its files.
    """
    from lab.report.claim import Claim
    from lab.report.claims import Claims
    from lab.report.notebooks import page
    from lab.spec import find
    from lab.verdict.judged import on, stored

    declared = find.find(map(str, claims))
    store = _store(results)
    judged = stored(declared, on(kernel, clock, store), store.predictions)
    return Claims(tuple(Claim(each, page()) for each in judged))


def article(name: str, results: Folder = None) -> Article:
    """An article as its page shows it: `load(name)` with its title and author.

    Raises InputError for an unknown article, SpecError for a mistake in its files.
    """
    from lab.report.article import Article

    return Article(load(name, results=results).claims)


def articles(results: Folder = None) -> Overview:
    """All articles, as the index shows them."""
    from itertools import groupby

    from lab.report.article import Article, Overview

    groups = groupby(load(results=results), key=lambda claim: claim.article)
    return Overview(tuple(Article(tuple(claims)) for _, claims in groups))


def compare(
    base: str | None = None, new: str | None = None, *claims: str | Path, results: Folder = None, against: Folder = None
) -> Changes:
    """What changed in claims (all of them without any) from the kernel `base` to `new` (name, version or id).

    The records are those of `load`; `base`'s are in the store `against`, if given. In the page that `lab compare` or
    `lab regress` writes, kernels and stores not named are theirs. Raises InputError, SpecError, and Incomparable where
    an experiment changed in between.
    """
    from lab.regress.compare import compare as compared
    from lab.regress.page import Changes
    from lab.report.notebooks import compared_there
    from lab.spec import find
    from lab.verdict.judged import on, stored

    there = compared_there()
    declared = find.find(map(str, claims))
    sides = [(base or there.base, against or there.against or results), (new or there.new, results)]
    judged = [
        stored(declared, on(kernel, None, store), store.predictions)
        for kernel, folder in sides
        for store in [_store(folder)]
    ]
    return Changes(compared(*judged))


def _store(results: Folder) -> Store:
    import os
    from pathlib import Path

    from lab.record import Store
    from lab.report.notebooks import RESULTS
    from lab.spec import find

    given = results or os.environ.get(RESULTS)
    likely = [Path(given)] if given else [root / "results" for root in find.roots()]
    return Store(next((path for path in likely if path.is_dir()), likely[0]))


def __getattr__(name: str) -> object:
    """`lab.run`, the package `lab.runner`, which is callable."""
    if name == "run":
        from importlib import import_module

        return import_module("lab.runner")
    raise AttributeError(f"module 'lab' has no attribute '{name}'")
