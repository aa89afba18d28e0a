"""Run the kernel's own network selftests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.app.options import PlanOptions, SuiteOptions, spread

if TYPE_CHECKING:
    from lab.ext.suites.selftest.running import SelftestRuns
    from lab.ext.suites.selftest.tree import Selftest


@spread(SuiteOptions)
def selftest(*names: str, options: SuiteOptions) -> SelftestRuns:
    """Run network selftests of the kernel's packaged source and judge them. `names` are patterns; default: all.

    Raises InputError, MachineError (no kernel, no source, no compiler, no userland) and Interrupted.
    """
    from lab.base.building import shown
    from lab.ext.suites.selftest import running as selftests
    from lab.ext.suites.selftest import tree
    from lab.machine.kernel.uml.cache import series

    settings = PlanOptions(kernel=options.kernel, seed=options.seed).settings()
    with shown() as progress:
        found = tree.find(names, series(settings.kernel.name), progress)
        return selftests.run(found, settings, options, progress)


def find(*names: str, kernel: str | None = None) -> tuple[Selftest, ...]:
    """Return the selftests in the kernel's packaged source that match these names. Raises InputError and
    MachineError.
    """
    from lab.base.building import shown
    from lab.ext.suites.selftest import tree
    from lab.machine.kernel import choose
    from lab.machine.kernel.uml.cache import series

    with shown() as progress:
        return tree.find(names, series(choose("uml", kernel).name), progress)
