"""What a trial stands on: a kernel under test, and how a process becomes a guest of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from lab.errors import InputError, LabError, MachineError
from lab.units import Size

__all__ = ["Clock", "Ground", "Start", "choose", "grounds"]

Clock = Literal["virtual", "real"]
PLACES = ("uml", "host", "vm")


@dataclass(frozen=True, slots=True)
class Start:
    """The program that becomes a guest, run in the trial's folder.

    It runs the job in boot/job.json and leaves boot/status, as `lab.kernel.init` does. `clock` is the address, in its
    memory, of the guest's virtual time (u64, nanoseconds since boot); None: there is none to watch.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    clock: int | None = None


class Ground(Protocol):
    """A kernel that is ready to run trials."""

    @property
    def on(self) -> str:
        """Where it runs: one of `PLACES`."""

    @property
    def name(self) -> str:
        """What a person calls it."""

    @property
    def id(self) -> str:
        """Of all that decides how it behaves."""

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """Those that it can run by, the usual one first."""

    def describe(self) -> dict[str, Any]:
        """What a trial records of it: no paths, the same on every machine."""

    def variant(self, patches: Sequence[Path] = (), hz: int | None = None) -> Ground:
        """The one that differs by these patches and ticks a second alone. Raises MachineError where there is none."""

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size) -> Start:
        """How a guest of it starts for the trial in `folder`. Raises MachineError where it cannot."""


def choose(on: str, name: str | None = None, clock: str | None = None) -> Ground:
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


def _best(name: str | None, clock: str | None) -> Ground:
    order = ("host", "uml") if clock == "real" else ("uml", "host")
    blockers = []
    for on in order:
        try:
            return choose(on, name)
        except LabError as error:
            blockers.append(f"--on {on}: {error}")
    raise MachineError("; ".join(blockers))


def grounds() -> list[Ground]:
    """Every kernel that is kept here: those built, then those of the distribution that were fetched."""
    from lab.kernel.uml import cache
    from lab.kernel.vm import stock

    return [*cache.installed(), *stock.installed()]
