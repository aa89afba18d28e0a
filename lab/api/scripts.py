"""Run packetdrill scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.api.options import Folder, settings_of, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.usecases.scripts import ScriptRuns

__all__ = ["packetdrill"]


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
    """Run packetdrill scripts and judge them: files, folders, patterns of names; by default all of the kernel's own.

    The kernel's own scripts are those of its packaged source. `tolerance` ("1 us") judges every event by that instead
    of by the script's own; `base` names another kernel, and what differs from it by more than 1 us is said.

    Raises InputError, MachineError (no kernel, no packetdrill, no userland), Interrupted.
    """
    from lab.building import shown
    from lab.kernel import Budget
    from lab.kernel.uml.cache import series
    from lab.packetdrill import scripts as files
    from lab.units import Duration, UnitError
    from lab.usecases import scripts as running

    try:
        limit = None if tolerance is None else Duration.of(tolerance)
    except UnitError as error:
        raise InputError(f"--tolerance: {error}") from None
    settings = settings_of(kernel, "uml", None, seed, 1)
    other = None if base is None else settings_of(base, "uml", None, seed, 1)
    with shown() as progress:
        found = files.find(scripts, series(settings.kernel.name), progress)
    limits = Budget(wall=budget, stall=stall)
    return running.run(found, settings, writing_to(results), limit, other, jobs, limits)
