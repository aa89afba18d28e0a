"""Choose the kernel that trials run on, by its name and by where it runs.

A wing (uml, host or vm) is imported when it is asked for: the other two would take half of a start.
"""

from __future__ import annotations

from lab.errors import InputError, LabError, MachineError
from lab.kernel.base import Kernel
from lab.spec.clock import PLACES, Clock

__all__ = ["choose", "installed_kernels"]


def choose(on: str, name: str | None = None, clock: Clock | None = None) -> Kernel:
    """Return the kernel called `name` (None: the usual one) where trials run `on`.

    "auto" picks what can run here: the running kernel first for real time, else a user-mode kernel first. Raises
    InputError when `on` is no such place, MachineError when no kernel can be had.
    """
    match on:
        case "uml":
            from lab.kernel.uml import cache

            return cache.find(name)
        case "host":
            from lab.kernel.host import running

            return running.find(name)
        case "auto":
            return _best(name, clock)
        case "vm":
            from lab.kernel.vm import stock

            return stock.find(name)
    raise InputError(f"--on {on}: it is {', '.join(PLACES)} or auto")


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
    """Return every kernel kept here: first those that were built, then the distribution's that were fetched."""
    from lab.kernel.uml import cache
    from lab.kernel.vm import stock

    return [*cache.installed(), *stock.installed()]
