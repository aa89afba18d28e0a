"""Run the kernel's own network selftests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.api.options import Folder, settings_of, writing_to

if TYPE_CHECKING:
    from lab.selftest.tree import Selftest
    from lab.usecases.selftests import SelftestRuns

__all__ = ["find", "selftest"]


def selftest(
    *names: str,
    kernel: str | None = None,
    seed: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
) -> SelftestRuns:
    """Run network selftests of the kernel's packaged source and judge them: by patterns of names, or all.

    Raises InputError, MachineError (no kernel, no source, no compiler, no userland), Interrupted.
    """
    from lab.building import shown
    from lab.kernel import Budget
    from lab.kernel.uml.cache import series
    from lab.selftest import tree
    from lab.usecases import selftests

    settings = settings_of(kernel, "uml", None, seed, 1)
    with shown() as progress:
        found = tree.find(names, series(settings.kernel.name), progress)
        limits = Budget(wall=budget, stall=stall)
        return selftests.run(found, settings, writing_to(results), progress, jobs, limits)


def find(*names: str, kernel: str | None = None) -> tuple[Selftest, ...]:
    """Return the selftests with such names in the kernel's packaged source. Raises InputError, MachineError."""
    from lab.building import shown
    from lab.kernel import choose
    from lab.kernel.uml.cache import series
    from lab.selftest import tree

    with shown() as progress:
        return tree.find(names, series(choose("uml", kernel).name), progress)
