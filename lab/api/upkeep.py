"""Keep a store in order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lab.api.options import Folder, reading_from

if TYPE_CHECKING:
    from lab.usecases.packing import Form, Repacked
    from lab.usecases.upkeep import Checkup, Collection, Usage

__all__ = ["collect", "fsck", "pack", "unpack", "usage"]


def usage(results: Folder = None) -> Usage:
    """Say what takes the room of a store: by claim, and by kind of file. Raises InputError where there is no store."""
    from lab.usecases import upkeep

    return upkeep.usage(reading_from(results))


def collect(
    *claims: str | Path,
    older_than: timedelta | None = None,
    kernel: str | None = None,
    unplanned: bool = False,
    remove: bool = False,
    results: Folder = None,
) -> Collection:
    """Say which records of a store may go; with `remove` they do.

    Every condition must fit: of these claims (ids, articles, packs, those that are no longer here too), run longer ago
    than `older_than`, on this `kernel` (name, version or id), and with `unplanned` such that its claim, as it stands,
    would not run it again: it has changed, or the lab's code in a guest or the userland has. Raises InputError without
    a condition, for an unknown claim or where there is no store, SpecError for mistakes in files, and StoreInUse while
    somebody uses the store.
    """
    from lab.usecases import upkeep

    wanted = upkeep.Wanted(tuple(map(str, claims)), older_than, kernel, unplanned)
    return upkeep.collect(reading_from(results), wanted, remove)


def fsck(results: Folder = None, remove: bool = False) -> Checkup:
    """Hash every record of a store again, and say what is wrong with which file; with `remove` damaged records go.

    Raises InputError where there is no store, and StoreInUse when records are to go while somebody uses it.
    """
    from lab.usecases import upkeep

    return upkeep.check(reading_from(results), remove)


def pack(*claims: str | Path, older_than: timedelta | None = None, results: Folder = None) -> Repacked:
    """Pack the large captures and samples of a store's records; they stay the same records, and read as before.

    Only those of these claims (ids, articles, packs), and those run longer ago than `older_than`. Raises InputError for
    an unknown claim or where there is no store, SpecError for mistakes in files, StoreInUse while somebody uses the
    store, and MachineError when the disk is full.
    """
    return _repacked(claims, older_than, "packed", results)


def unpack(*claims: str | Path, older_than: timedelta | None = None, results: Folder = None) -> Repacked:
    """Bring back what `pack` packed. Raises as it does."""
    return _repacked(claims, older_than, "plain", results)


def _repacked(claims: Sequence[str | Path], older_than: timedelta | None, form: Form, results: Folder) -> Repacked:
    from lab.building import shown
    from lab.usecases import upkeep

    wanted = upkeep.Wanted(tuple(map(str, claims)), older_than)
    with shown() as progress:
        return upkeep.repack(reading_from(results), wanted, form, progress)
