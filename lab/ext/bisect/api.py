"""Find the commit that changed a claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.bisect.bisection import Bisection


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
    from lab.base.building import shown
    from lab.ext.bisect import bisection
    from lab.machine.kernel import Budget
    from lab.spec import find

    experiments = find.find([str(claim)])
    if len(experiments) != 1:
        raise InputError(f"{claim} is an article: bisect one of {', '.join(each.id for each in experiments)}")
    with shown() as progress:
        search = bisection.Search(experiments[0], seed, jobs, Budget(wall=budget), progress)
        return bisection.bisect(search, Path(tree), good, bad, writing_to(results))
