"""Find the commit that changed a claim's result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import RunOptions, SuiteOptions, spread
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.bisect.bisection import Bisection


@spread(SuiteOptions, without=["kernel"])
def bisect(
    claim: str | Path,
    tree: str | Path,
    good: str,
    bad: str,
    *,
    options: SuiteOptions,
) -> Bisection:
    """Find the commit between two revisions of a kernel `tree` that changed a claim's result.

    The search works in a scratch folder of `results`. A single commit is saved in `results`, so that `compare` and
    `regress` name the commit next to the same change. Raises InputError if a revision is unknown or the claim has equal
    results on both revisions, and BuildFailed if one of the two revisions does not build.
    """
    from lab.base.building import shown
    from lab.ext.bisect import bisection
    from lab.spec import find

    experiments = find.find([str(claim)])
    if len(experiments) != 1:
        raise InputError(f"{claim} is an article; bisect one of {', '.join(each.id for each in experiments)}")
    with shown() as progress:
        search = bisection.Search(experiments[0], RunOptions(**options.given()), progress)
        found = bisection.bisect(search, Path(tree), good, bad)
    bisection.remember(found, search.options.folder, good, bad)
    return found
