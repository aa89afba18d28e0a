"""Turn the options that several functions take into what the use cases take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lab.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

    from lab.record.store import Store
    from lab.runner.plan import Settings
    from lab.usecases.running import Elsewhere

Folder = Path | str | None

__all__ = ["Folder", "elsewhere", "reading_from", "settings_of", "store_of", "writing_to"]


def settings_of(
    kernel: str | None,
    on: str,
    clock: str | None,
    seed: int,
    repeat: int,
    fabric: str = "netlink",
    userland: str = "sealed",
    bundle: Folder = None,
) -> Settings:
    """Choose the kernel, the clock and the programs of a run; with `bundle`, out of that file."""
    from lab.kernel import choose
    from lab.runner.plan import Settings
    from lab.spec.clock import clock_of
    from lab.usecases import userlands

    asked = None if clock is None else clock_of(clock)
    if bundle is not None:
        from lab.usecases import unbundling

        if on != "uml":
            raise InputError(f"--on {on}: the kernels of a bundle are user-mode Linux, --on uml")
        found = unbundling.ready(Path(bundle))
        own = found.kernel(kernel)
        return Settings(own, asked or own.clocks[0], seed, repeat, fabric, found.userland(userland))
    chosen = choose(on, kernel, asked)
    return Settings(chosen, asked or chosen.clocks[0], seed, repeat, fabric, userlands.chosen(userland, chosen.on))


def elsewhere(store: str | None, cluster: str | Client | None) -> Elsewhere:
    """Find the shared store, and hand on which cluster."""
    from lab.usecases.running import Elsewhere

    if not store:
        return Elsewhere(None, cluster)
    from lab.record.shared import shared_store

    return Elsewhere(shared_store(store), cluster)


def writing_to(results: Folder) -> Path:
    """Return the store that a run writes to."""
    from lab.report.notebooks import RESULTS

    return Path(results or os.environ.get(RESULTS) or "results")


def reading_from(results: Folder) -> Path:
    """Return the store to read: the project's, too, when the current directory has none."""
    from lab import shipped
    from lab.report.notebooks import RESULTS

    given = results or os.environ.get(RESULTS)
    likely = [Path(given)] if given else [root / "results" for root in shipped.roots()]
    return next((path for path in likely if path.exists()), likely[0])


def store_of(results: Folder) -> Store:
    """Open the store to read."""
    from lab.record.store import Store

    return Store(reading_from(results))
