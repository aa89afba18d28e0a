"""A network lab whose results anyone can reproduce to the byte. `import lab` is the interface of notebooks.

Nothing is imported before it is asked for: guests import this package too, and a trial starts with that.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lab.record import Record
    from lab.report.article import Article, Overview

__all__ = ["article", "articles"]


def article(name: str, results: Path | str | None = None) -> Article:
    """The claims of an article, judged by the records in `results`.

    Where none is given, as LAB_RESULTS says; else results/ of the current directory or of the project. Raises
    InputError for an unknown article, SpecError for a mistake in its files.
    """
    from lab.report.article import Article
    from lab.report.judged import stored
    from lab.spec import find

    return Article(stored(find.find([name]), _records(results)), _page())


def articles(results: Path | str | None = None) -> Overview:
    """The claims of all articles, judged by the records in `results`, as `article` takes them."""
    from itertools import groupby

    from lab.report.article import Article, Overview
    from lab.report.judged import stored
    from lab.spec import find

    judged = stored(find.find(), _records(results))
    groups = groupby(judged, key=lambda each: each.declared.article.name)
    return Overview(tuple(Article(tuple(claims), _page()) for _, claims in groups))


def _records(results: Path | str | None) -> Iterable[Record]:
    import os

    from lab.record import Store
    from lab.report.notebooks import RESULTS
    from lab.spec import find

    given = results or os.environ.get(RESULTS)
    likely = [Path(given)] if given else [root / "results" for root in find.roots()]
    return Store(next((path for path in likely if path.is_dir()), likely[0]))


def _page() -> Path:
    import os

    from lab.report.notebooks import PAGES

    return Path(os.environ.get(PAGES, "."))
