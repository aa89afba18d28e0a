"""Run packetdrill scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.app.options import Folder, settings_of, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.suites.packetdrill.running import ScriptRuns


def packetdrill(
    *scripts: str,
    kernel: str | None = None,
    base: str | None = None,
    tolerance: str | None = None,
    seed: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
) -> ScriptRuns:
    """Run packetdrill scripts and judge them. `scripts` are files, folders, or patterns of names; default: the kernel's
    own.

    The kernel's own scripts come from its packaged source. `tolerance` ("1 us") replaces the tolerance of each script
    for every event. `base` names a second kernel; differences of more than 1 us from it are reported.

    Raises InputError, MachineError (no kernel, no packetdrill, no userland), Interrupted.
    """
    from lab.base.building import shown
    from lab.ext.suites.packetdrill import running
    from lab.ext.suites.packetdrill import scripts as files
    from lab.machine import packetdrill as cache
    from lab.machine.kernel import Budget
    from lab.machine.kernel.uml.cache import series
    from lab.units import Duration, UnitError

    try:
        limit = None if tolerance is None else Duration.of(tolerance)
    except UnitError as error:
        raise InputError(f"--tolerance: {error}") from None
    settings, store = settings_of(kernel, "uml", None, seed, 1), writing_to(results)
    other = None if base is None else settings_of(base, "uml", None, seed, 1)
    cache.find()  # raises an error before scripts are unpacked, which takes a while
    with shown() as progress:
        found = files.find(scripts, series(settings.kernel.name), progress)
    limits = Budget(wall=budget, stall=stall)
    return running.run(found, settings, store, limit, other, jobs, limits)
