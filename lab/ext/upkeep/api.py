"""Maintain a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, on_kernel, reading_from, store_of

if TYPE_CHECKING:
    from lab.ext.upkeep.packing import Form, Repacked
    from lab.ext.upkeep.upkeep import Checkup, Collection, Usage


def usage(results: Folder = None) -> Usage:
    """Return the disk usage of a store, by claim and by kind of file.

    Raises InputError if there is no store.
    """
    from lab.ext.upkeep import upkeep

    return upkeep.usage(reading_from(results))


def collect(
    *claims: str | Path,
    older_than: timedelta | None = None,
    kernel: str | None = None,
    unplanned: bool = False,
    remove: bool = False,
    results: Folder = None,
) -> Collection:
    """Return the records in a store that match all conditions. With `remove`, also remove them.

    The conditions are: claims (ids, articles or packs, including those that are no longer installed), `older_than`,
    `kernel` (name, version or id), and `unplanned`. `unplanned` selects records that their claims no longer need,
    because the claim, the lab's guest code or the userland has changed. Raises InputError without a condition or a
    store, for an unknown claim, and for a kernel without a record, SpecError for mistakes in files, and StoreInUse
    while another command uses the store.
    """
    from lab.ext.upkeep import upkeep

    wanted, store = upkeep.Wanted(tuple(map(str, claims)), older_than, kernel, unplanned), reading_from(results)
    if kernel is not None:
        on_kernel(store_of(store), kernel)
    return upkeep.collect(store, wanted, remove)


def fsck(results: Folder = None, remove: bool = False) -> Checkup:
    """Rehash every record in a store, and return all faults. With `remove`, remove damaged records.

    Raises InputError without a store and, with `remove`, StoreInUse while another command uses the store.
    """
    from lab.ext.upkeep import upkeep

    return upkeep.check(reading_from(results), remove)


def pack(*claims: str | Path, older_than: timedelta | None = None, results: Folder = None) -> Repacked:
    """Compress the large captures and samples of a store's records, which stay readable for all commands.

    The function packs only records of these claims (ids, articles, packs; default: all) that are older than
    `older_than`. Raises InputError for an unknown claim or without a store, SpecError for mistakes in files, StoreInUse
    while another command uses the store, and MachineError if the disk is full.
    """
    return _repacked(claims, older_than, "packed", results)


def unpack(*claims: str | Path, older_than: timedelta | None = None, results: Folder = None) -> Repacked:
    """Decompress the files that `pack` compressed. Raises the errors of `pack`."""
    return _repacked(claims, older_than, "plain", results)


def _repacked(claims: Sequence[str | Path], older_than: timedelta | None, form: Form, results: Folder) -> Repacked:
    from lab.base.building import shown
    from lab.ext.upkeep import upkeep

    wanted = upkeep.Wanted(tuple(map(str, claims)), older_than)
    with shown() as progress:
        return upkeep.repack(reading_from(results), wanted, form, progress)
