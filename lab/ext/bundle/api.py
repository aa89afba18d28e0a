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
    experiments, topologies and notebooks, the pages in the folder `report`, and a Python that starts the lab. Raises
    InputError without records or if `out` exists, and MachineError if a kernel no longer exists or the disk is full.
    """
    from lab.base.building import shown
    from lab.ext.bundle import bundling
    from lab.spec import find

    pages = None if report is None else Path(report)
    if pages is not None and not pages.is_dir():
        raise InputError(f"{pages} is not a folder of pages: `lab report` makes one")
    with shown() as progress:
        return bundling.bundle(find.find(map(str, claims)), reading_from(results), pages, Path(out), progress)
