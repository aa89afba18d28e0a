"""Which kernel trials run on: the one that a name and a place mean, of all that are kept here.

A wing is imported when it is asked for: the other two would take half of a start.
"""

from __future__ import annotations

from lab.errors import InputError, LabError, MachineError
from lab.kernel.base import PLACES, Kernel

__all__ = ["choose", "installed_kernels"]


def choose(on: str, name: str | None = None, clock: str | None = None) -> Kernel:
    """The kernel called `name` (None: the usual one) where trials run `on`.

    "auto" picks what can run here: for real time the running kernel, a user-mode one otherwise and where that cannot.
    Raises InputError, MachineError.
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


def _best(name: str | None, clock: str | None) -> Kernel:
    order = ("host", "uml") if clock == "real" else ("uml", "host")
    blockers = []
    for on in order:
        try:
            return choose(on, name)
        except LabError as error:
            blockers.append(f"--on {on}: {error}")
    raise MachineError("; ".join(blockers))


def installed_kernels() -> list[Kernel]:
    """Every kernel that is kept here: those built, then those of the distribution that were fetched."""
    from lab.kernel.uml import cache
    from lab.kernel.vm import stock

    return [*cache.installed(), *stock.installed()]
