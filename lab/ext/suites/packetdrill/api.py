"""Run packetdrill scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.app.options import PlanOptions, SuiteOptions, spread
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.suites.packetdrill.running import ScriptRuns


@spread(SuiteOptions)
def packetdrill(
    *scripts: str,
    options: SuiteOptions,
    base: str | None = None,
    tolerance: str | None = None,
) -> ScriptRuns:
    """Run packetdrill scripts, and judge them.

    `scripts` holds files, folders, or name patterns of the kernel's own scripts (default: all of these), which come
    from the kernel's packaged source. `tolerance` ("1 us") replaces the tolerance of each script for every event.
    `base` names a second kernel; the result includes differences of more than 1 us from it.

    Raises InputError, MachineError (no kernel, no packetdrill, no userland) and Interrupted.
    """
    from dataclasses import replace

    from lab.base.building import shown
    from lab.ext.suites.packetdrill import running
    from lab.ext.suites.packetdrill import scripts as files
    from lab.machine import packetdrill as cache
    from lab.machine.kernel.uml.cache import series
    from lab.spec.errors import told
    from lab.units import Duration, UnitError

    try:
        limit = None if tolerance is None else Duration.of(tolerance)
    except UnitError as error:
        raise InputError(f"--tolerance: {told(error)}") from None
    plain = PlanOptions(kernel=options.kernel, seed=options.seed)
    settings, other = plain.settings(), None if base is None else replace(plain, kernel=base).settings()
    cache.find()  # raises an error before scripts are unpacked, which takes a while
    with shown() as progress:
        found = files.find(scripts, series(settings.kernel.name), progress)
    return running.run(found, settings, options, limit, other)
