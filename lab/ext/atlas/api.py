"""Create the atlas: pages about changes in TCP from each kernel to the next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import PlanOptions, SuiteOptions, reading_from, spread

if TYPE_CHECKING:
    from lab.ext.atlas.atlas import Atlas


@spread(SuiteOptions, without=["kernel"])
def atlas(
    folder: str | Path,
    *claims: str | Path,
    options: SuiteOptions,
    kernels: Sequence[str] = (),
    scripts: Sequence[str] | None = ("*",),
    tree: str | Path | None = None,
    stored: bool = False,
) -> Atlas:
    """Write pages about changes in TCP from each kernel to the next into `folder`, and return the atlas.

    Default for `claims`: all claims of articles, and the claims that show a known change. Default for `kernels`: the
    newest built kernel of each series. `scripts` names packetdrill scripts in the newest kernel's source, as for
    `packetdrill`; None means no scripts. `tree` is a kernel git tree that provides the subjects and authors of commits.
    With `stored`, no trial runs. Raises InputError, SpecError, MachineError and Interrupted.
    """
    from dataclasses import replace

    from lab.base.building import shown
    from lab.ext.atlas import making
    from lab.ext.suites.packetdrill import scripts as files
    from lab.machine import packetdrill as cache
    from lab.machine.kernel.uml.cache import series

    names = kernels or [each.id for each in making.kernels()]
    settings = [PlanOptions(kernel=name, seed=options.seed).settings() for name in names]
    experiments = making.wanted([*map(str, claims)])
    known = making.commits(Path(tree)) if tree else {}
    found: tuple[files.Script, ...] = ()
    if scripts is not None and settings:
        cache.find()  # raise early: unpacking the scripts takes some time
        with shown() as progress:
            found = files.find(scripts, series(settings[-1].kernel.name), progress)
    if stored:
        made = making.kept(experiments, found, settings, reading_from(options.results))
    else:
        made = making.performed(experiments, found, settings, options)
    made = replace(made, commits=known)
    making.write(made, Path(folder))
    return made
