"""Write a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, reading_from
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.bundle.bundling import Bundled


def bundle(out: str | Path, *claims: str | Path, results: Folder = None, report: Folder = None) -> Bundled:
    """Write claims (default: all) into the single file `out`, with all files that are needed to rerun the claims.

    The file holds the claims' records from `results`, their predictions, the kernels and userlands of the trials,
    experiments, topologies and notebooks, the pages in the folder `report`, and a Python that starts the lab. Records
    of scripts and test suites can be named like claims: mininet/NAME. Raises InputError without records or if `out`
    exists, and MachineError if a kernel no longer exists or the disk is full.
    """
    from lab.base.building import shown
    from lab.ext.bundle import bundling, writer
    from lab.ext.comparison.unclaimed import unclaimed
    from lab.record.store import Store
    from lab.spec import find

    if find.is_known(str(out)):
        raise InputError(f"{out} names claims; name the file to write first, as in `lab bundle claims.tar.zst {out}`")
    writer.check(Path(out))
    pages = None if report is None else Path(report)
    if pages is not None and not pages.is_dir():
        raise InputError(f"{pages} is not a folder of pages; `lab report` makes one")
    folder, names = reading_from(results), [*map(str, claims)]
    others = {record: record.trial.claim for record in unclaimed(Store(folder), find.experiments())}
    named = {*others.values(), *(claim.partition("/")[0] for claim in others.values())}.intersection(names)
    if names:
        others = {record: claim for record, claim in others.items() if {claim, claim.partition("/")[0]} & named}
    left = [name for name in names if name not in named]
    experiments = find.find(left) if left or not names else ()
    with shown() as progress:
        return bundling.bundle(experiments, folder, pages, Path(out), progress, others)
