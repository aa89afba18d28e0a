"""The trials of claims: planned, performed in guests of their own, and kept. Callable: `lab.run("article/claim")`.

Guests import this package too, so it imports nothing before it is called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from lab.report.claims import Claims

__all__ = ["run"]


def run(
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    seed: int = 1,
    repeat: int = 1,
    jobs: int | None = None,
    results: str | Path | None = None,
) -> Claims:
    """Run and judge claims: ids, articles or FILE.py, all of them without any. What the store has is not run again.

    The options are those of `lab run`. Records go to the store `results`; unless given, where LAB_RESULTS says, else
    to results/ of the current directory. Raises InputError, SpecError (with every mistake in the files), MachineError;
    a trial that fails makes its claim `invalid`, one that cannot be run here `skipped`.
    """
    import os
    from pathlib import Path

    from lab import kernel as kernels
    from lab.claims import run as run_claims
    from lab.report.claim import Claim
    from lab.report.claims import Claims
    from lab.report.notebooks import RESULTS, page
    from lab.runner.plan import Settings
    from lab.spec import find

    ground = kernels.choose(on, kernel, clock)
    settings = Settings(ground, clock or ground.clocks[0], seed, repeat, fabric)
    store = Path(results or os.environ.get(RESULTS) or "results")
    answer = run_claims(find.find(map(str, claims)), settings, store, jobs)
    return Claims(tuple(Claim(each, page()) for each in answer.judged))


class _Callable(ModuleType):
    """A module that is called as its function `run` is: the folder of the layer and the interface have one name."""

    __call__ = staticmethod(run)


sys.modules[__name__].__class__ = _Callable
