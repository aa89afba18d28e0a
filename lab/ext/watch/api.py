"""Show the progress of one trial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, PlanOptions, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.watch.watching import Glimpse, Watched


def watch(
    claim: str | Path,
    seen: Callable[[Glimpse], None],
    *,
    arm: str | None = None,
    kernel: str | None = None,
    seed: int = 1,
    results: Folder = None,
) -> Watched:
    """Run the first trial of a claim's arm (None: the first arm), and pass its progress to `seen`.

    `seen` is called ten times in each second of the trial's own time. The record is identical to the record of `run`,
    and goes to the same store. An existing record stays, and is compared byte by byte with the new record. Raises
    InputError for an unknown claim or arm, or if no probe writes during the trial; MachineError; and the errors of
    running a trial.
    """
    from lab.ext.watch import watching
    from lab.spec import find

    experiments = find.find([str(claim)])
    if len(experiments) != 1:
        raise InputError(f"{claim} is an article; watch one of {', '.join(each.id for each in experiments)}")
    settings = PlanOptions(kernel=kernel, seed=seed).settings()
    return watching.watch(experiments[0], arm, settings, writing_to(results), seen)
