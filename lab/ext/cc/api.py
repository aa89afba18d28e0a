"""Judge congestion controls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import RunOptions, SuiteOptions, spread
from lab.base.version import series
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.cc.card import Card
    from lab.machine.kernel import UmlKernel


@spread(SuiteOptions)
def cc(
    control: str | Path,
    *,
    tree: Path | str | None = None,
    quick: bool = False,
    case: str | None = None,
    against: str | None = None,
    trust: bool = False,
    options: SuiteOptions,
) -> Card:
    """Judge a congestion control on the cases of the pack congestion-judge, and return its card.

    `control` is a name in the kernel, such as "cubic", or a C file, which the lab builds into the kernel in seconds. A
    file with the name of one of the kernel's files replaces that file. With `tree`, the lab builds the kernel from this
    source tree. `quick` runs the quick cases with one seed; without it, all cases run with three seeds, and some also
    on changed paths. With `trust`, the lab compiles the file even if this machine cannot confine the compiler. `case`
    names the cases to run, separated with commas; default: all. `against` names rivals, separated with commas, which
    share a bottleneck with the congestion control. A trial whose record is already in the store does not run again.
    Raises InputError for an unknown case or a congestion control that the kernel does not have, SpecError for
    mistakes in the C file or the pack's files, MachineError, and the errors of a kernel build.
    """
    from dataclasses import replace

    from lab.ext.cc import cases, judging, kernels

    pack = cases.load()
    wanted = judging.chosen(pack, case, quick)
    file = Path(control) if Path(control).suffix == ".c" else None
    if file is not None:
        plain = _plain(options.kernel, tree, file)
        name = kernels.control_in(file, plain)
        kernel = _changed(plain, file, trust)
    else:
        name, kernel = str(control), _kernel(options.kernel, tree)
    known = kernels.controls(kernel, [name, *(each.strip() for each in (against or "").split(","))])
    judging.need(name, known)
    rivals = judging.rivals(against, known)
    run = RunOptions(**options.given())
    settings = replace(replace(run, kernel=kernel.id).settings(), kernel=kernel)
    return judging.judged(pack, wanted, name, settings, run, quick, rivals)


def _kernel(name: str | None, tree: Path | str | None) -> UmlKernel:
    """Return the kernel of this name, or the kernel of a source tree."""
    from lab.base.building import shown
    from lab.machine.kernel import build, find

    if tree is None:
        return find(name)
    if name is not None:
        raise InputError("--kernel and --tree contradict each other; give one of them")
    with shown() as progress:
        return build(tree=Path(tree), progress=progress)


def _plain(name: str | None, tree: Path | str | None, file: Path) -> UmlKernel:
    """Return the kernel that the C file changes. Raises InputError if it is not a series without changes."""
    from lab.machine.kernel import find

    if tree is not None:
        raise InputError(f"{file} and --tree contradict each other; give one of them")
    kernel = find(name)
    if not kernel.answers_to(None):
        raise InputError(f"--kernel {name}: a C file needs a plain kernel such as {series(kernel.version)}")
    return kernel


def _changed(plain: UmlKernel, file: Path, trust: bool) -> UmlKernel:
    """Return the kernel with the C file built in, under a name that the lab derives."""
    from lab.base.building import shown
    from lab.machine.kernel import build

    with shown() as progress:
        return build(plain.name, files=[file], progress=progress, trust=trust)
