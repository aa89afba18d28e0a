"""Choose the kernel for trials, by name and by the place where it runs.

The code for a place (uml, host or vm) is imported only if needed, since importing the code for the other two places
would take half of the start-up time.
"""

from __future__ import annotations

from lab.errors import InputError, LabError, MachineError
from lab.guest.clock import PLACES, Clock
from lab.machine.kernel.base import Kernel


def choose(on: str, name: str | None = None, clock: Clock | None = None) -> Kernel:
    """Return the kernel called `name` (None: the default) where trials run `on`.

    "auto" picks a kernel that can run here. For real time, it tries the running kernel first, then a user-mode kernel.
    Raises InputError if `on` is not a known place, and MachineError if no kernel is available.
    """
    match on:
        case "uml":
            from lab.machine.kernel.uml import cache

            return cache.find(name)
        case "host":
            from lab.machine.kernel.host import running

            return running.find(name)
        case "auto":
            return _best(name, clock)
        case "vm":
            from lab.machine.kernel.vm import stock

            return stock.find(name)
    raise InputError(f"--on {on} is unknown; use {', '.join(PLACES)} or auto")


def _best(name: str | None, clock: Clock | None) -> Kernel:
    order = ("host", "uml") if clock == "real" else ("uml", "host")
    blockers = []
    for on in order:
        try:
            return choose(on, name)
        except LabError as error:
            blockers.append(f"--on {on}: {error}")
    raise MachineError("; ".join(blockers))


def installed_kernels() -> list[Kernel]:
    """Return every kernel in the cache: first the built kernels, then the fetched distribution kernels."""
    from lab.machine.kernel.uml import cache
    from lab.machine.kernel.vm import stock

    return [*cache.installed(), *stock.installed()]
