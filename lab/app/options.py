"""Turn the options of several functions into the arguments of use cases."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lab.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

    from lab.app.running import Elsewhere
    from lab.record.record import Record
    from lab.record.store import Store
    from lab.runner.plan import Settings

Folder = Path | str | None
USUAL = Path("results")  # the default store, in the current directory


def settings_of(
    kernel: str | None,
    on: str,
    clock: str | None,
    seed: int,
    repeat: int,
    fabric: str = "netlink",
    userland: str = "sealed",
    bundle: Folder = None,
    trust: bool = False,
) -> Settings:
    """Return the settings of a run: kernel, clock and programs. With `bundle`, these come from that file.

    With `trust`, C sources of packs are compiled even if this machine cannot confine the compiler.

    Raises InputError for a seed below 0, fewer than 1 repeat, and numbers that are not whole.
    """
    from lab.app import userlands
    from lab.guest.clock import clock_of
    from lab.machine.kernel import choose
    from lab.runner.plan import Settings

    numbers: tuple[tuple[str, object, int], ...] = (("seed", seed, 0), ("repeat", repeat, 1))
    for what, number, least in numbers:
        if not isinstance(number, int) or number < least:
            raise InputError(f"{what} {number!r} is too small or not a whole number; use {least} or more")
    asked = None if clock is None else clock_of(clock)
    if bundle is not None:
        from lab.app.extension import hook

        if on != "uml":
            raise InputError(f"--on {on}: a bundle's kernels are user-mode Linux; use --on uml")
        found = hook("machines", str(bundle))(Path(bundle))
        own = found.kernel(kernel)
        return Settings(own, asked or own.clocks[0], seed, repeat, fabric, found.userland(userland), trust)
    chosen = choose(on, kernel, asked)
    programs = userlands.chosen(userland, chosen.on)
    return Settings(chosen, asked or chosen.clocks[0], seed, repeat, fabric, programs, trust)


def elsewhere(store: str | None, cluster: str | Client | None) -> Elsewhere:
    """Return the other sources of records: the shared store, if it is named, and the cluster."""
    from lab.app.extension import hook
    from lab.app.running import Elsewhere

    return Elsewhere(hook("store", "--store")(store) if store else None, cluster)


def writing_to(results: Folder) -> Path:
    """Return the store that a run writes to. It need not exist yet.

    Raises InputError for the path of a file, or one below a file.
    """
    from lab.report.notebooks import RESULTS

    path = Path(results or os.environ.get(RESULTS) or USUAL)
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"{path} cannot be a store of records: {there} is a file")
    return path


def reading_from(results: Folder) -> Path:
    """Return the store to read. Default: the current directory's, else the project's.

    The default store, results/, need not exist yet. Raises InputError if a named store does not exist.
    """
    from lab.report.notebooks import RESULTS
    from lab.spec import shipped

    given = results or os.environ.get(RESULTS)
    if given and Path(given).resolve() != USUAL.resolve() and not Path(given).is_dir():
        raise InputError(f"{given} is not a store of records")
    likely = [Path(given)] if given else [root / USUAL for root in shipped.roots()]
    return next((path for path in likely if path.exists()), likely[0])


def store_of(results: Folder) -> Store:
    """Return the store to read."""
    from lab.record.store import Store

    return Store(reading_from(results))


def on_kernel(records: Iterable[Record], kernel: str | None) -> tuple[Record, ...]:
    """Return these records. Raises InputError if none of them ran on the named `kernel` or a variant of it."""
    from lab.base import version
    from lab.record.record import RecordError

    found, known = tuple(records), dict[str, None]()
    for record in found if kernel is not None else ():
        with suppress(RecordError):  # the judge leaves it out, too
            ran = record.trial.kernel
            names = [ran.get(key, "") for key in ("name", "version", "id", "base")]
            if kernel in (*names, version.series(ran["version"])):
                return found
            known[names[0]] = None
    if kernel is not None:
        raise InputError(f"no record is on a kernel '{kernel}', only on {', '.join(sorted(known)) or 'none'}")
    return found
