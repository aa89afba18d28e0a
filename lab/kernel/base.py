"""A kernel under test, whichever kind it is, and how a process becomes a guest of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from lab.errors import MachineError
from lab.units import Size

__all__ = ["PLACES", "Clock", "Kernel", "KernelMissing", "Start", "folder"]

Clock = Literal["virtual", "real"]
PLACES = ("uml", "host", "vm")


class KernelMissing(MachineError):
    """No such kernel is kept here."""


@dataclass(frozen=True, slots=True)
class Start:
    """The program that becomes a guest, run in the trial's folder.

    It runs the job in boot/job.json and leaves boot/status, as `lab.kernel.init` does. `clock` is the address, in its
    memory, of the guest's virtual time (u64, nanoseconds since boot); None: there is none to watch.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    clock: int | None = None


class Kernel(Protocol):
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

    def variant(self, patches: Sequence[Path] = (), hz: int | None = None) -> Kernel:
        """The one that differs by these patches and ticks a second alone. Raises MachineError where there is none."""

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size) -> Start:
        """How a guest of it starts for the trial in `folder`. Raises MachineError where it cannot."""


def folder() -> Path:
    """Where kernels are kept: $XDG_CACHE_HOME/replab/kernels, by default below ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "replab" / "kernels"
