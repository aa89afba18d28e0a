"""Run the kernel's own network selftests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.app.options import Folder, settings_of, writing_to

if TYPE_CHECKING:
    from lab.ext.suites.selftest.running import SelftestRuns
    from lab.ext.suites.selftest.tree import Selftest


def selftest(
    *names: str,
    kernel: str | None = None,
    seed: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
) -> SelftestRuns:
    """Run network selftests of the kernel's packaged source and judge them. `names` are patterns; default: all.

    Raises InputError, MachineError (no kernel, no source, no compiler, no userland), Interrupted.
    """
    from lab.base.building import shown
    from lab.ext.suites.selftest import running as selftests
    from lab.ext.suites.selftest import tree
    from lab.machine.kernel import Budget
    from lab.machine.kernel.uml.cache import series

    settings, store = settings_of(kernel, "uml", None, seed, 1), writing_to(results)
    with shown() as progress:
        found = tree.find(names, series(settings.kernel.name), progress)
        limits = Budget(wall=budget, stall=stall)
        return selftests.run(found, settings, store, progress, jobs, limits)


def find(*names: str, kernel: str | None = None) -> tuple[Selftest, ...]:
    """Return the selftests in the kernel's packaged source that match these names. Raises InputError, MachineError."""
    from lab.base.building import shown
    from lab.ext.suites.selftest import tree
    from lab.machine.kernel import choose
    from lab.machine.kernel.uml.cache import series

    with shown() as progress:
        return tree.find(names, series(choose("uml", kernel).name), progress)
