"""Make the atlas: pages about TCP's changes from each kernel to the next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, reading_from, settings_of, writing_to

if TYPE_CHECKING:
    from lab.ext.atlas.atlas import Atlas


def atlas(
    folder: str | Path,
    *claims: str | Path,
    kernels: Sequence[str] = (),
    scripts: Sequence[str] | None = ("*",),
    tree: str | Path | None = None,
    seed: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stored: bool = False,
    results: Folder = None,
) -> Atlas:
    """Write pages about TCP's changes from each kernel to the next to `folder`, and return the atlas.

    Default for `claims`: all claims of articles, and the claims that show a known change. Default for `kernels`: the
    newest kernel of each series that is built here. `scripts` are packetdrill scripts in the newest kernel's source,
    named as for `packetdrill`; None leaves them out. `tree` is a kernel's git tree, for the subjects and authors of
    commits. With `stored`, nothing runs. Raises InputError, SpecError, MachineError, Interrupted.
    """
    from dataclasses import replace

    from lab.base.building import shown
    from lab.ext.atlas import making
    from lab.ext.suites.packetdrill import scripts as files
    from lab.machine import packetdrill as cache
    from lab.machine.kernel import Budget
    from lab.machine.kernel.uml.cache import series

    names = kernels or [each.id for each in making.kernels()]
    settings = [settings_of(name, "uml", None, seed, 1) for name in names]
    experiments, store = making.wanted([*map(str, claims)]), writing_to(results)
    known = making.commits(Path(tree)) if tree else {}
    found: tuple[files.Script, ...] = ()
    if scripts is not None and settings:
        cache.find()  # raise early: unpacking the scripts takes some time
        with shown() as progress:
            found = files.find(scripts, series(settings[-1].kernel.name), progress)
    if stored:
        made = making.kept(experiments, found, settings, reading_from(results))
    else:
        made = making.performed(experiments, found, settings, store, jobs, Budget(wall=budget))
    made = replace(made, commits=known)
    making.write(made, Path(folder))
    return made
