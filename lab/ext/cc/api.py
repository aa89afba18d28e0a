"""Judge congestion controls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import RunOptions, SuiteOptions, spread
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.cc.card import Card
    from lab.machine.kernel import UmlKernel


@spread(SuiteOptions)
def cc(
    control: str,
    *,
    tree: Path | str | None = None,
    quick: bool = False,
    case: str | None = None,
    against: str | None = None,
    options: SuiteOptions,
) -> Card:
    """Judge a congestion control on the cases of the pack congestion-judge, and return its card.

    `control` is a name in the kernel, such as "cubic". With `tree`, the kernel is built from this source tree. `quick`
    runs the quick cases with one seed; without it, all cases run with three seeds, and some also on changed paths.
    `case` names cases, separated with commas, if not all should run. `against` names rivals, separated with commas,
    which share a bottleneck with the congestion control. A trial whose record is already in the store does not run
    again. Raises InputError for an unknown case or a congestion control that the kernel does not have, SpecError for
    mistakes in the pack's files, MachineError, and the errors of a kernel build.
    """
    from dataclasses import replace

    from lab.ext.cc import cases, judging, kernels

    pack = cases.load()
    wanted = judging.chosen(pack, case, quick)
    kernel = _kernel(options.kernel, tree)
    known = kernels.controls(kernel)
    judging.need(control, known)
    rivals = judging.rivals(against, known)
    run = RunOptions(**options.given())
    settings = replace(replace(run, kernel=kernel.id).settings(), kernel=kernel)
    return judging.judged(pack, wanted, control, settings, run, quick, rivals)


def _kernel(name: str | None, tree: Path | str | None) -> UmlKernel:
    """Return the kernel of this name, or the kernel of a source tree in its present state."""
    from lab.base.building import shown
    from lab.machine.kernel import build, find

    if tree is None:
        return find(name)
    if name is not None:
        raise InputError("--kernel and --tree contradict each other; give one of them")
    with shown() as progress:
        return build(tree=Path(tree), progress=progress)
