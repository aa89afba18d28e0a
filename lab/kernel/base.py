"""Define a kernel under test, whichever kind it is, and how a process becomes its guest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lab import cache
from lab.errors import MachineError
from lab.kernel.containment import Containment
from lab.kernel.root import Root
from lab.spec.clock import Clock, Place
from lab.spec.variant import ResolvedVariant
from lab.units import Size

__all__ = ["HOST_MEMORY", "Kernel", "KernelMissing", "Start", "folder"]

HOST_MEMORY = Path("/dev/shm")  # files there are in the host's memory


class KernelMissing(MachineError):
    """No such kernel is kept here."""


@dataclass(frozen=True, slots=True)
class Start:
    """Describe the program that becomes a guest, run in the trial's folder.

    The program runs the job in boot/ (lab.kernel.init.Job) and leaves boot/status, as `lab.kernel.init` does.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    containment: Containment | None = None  # None: it is not confined
    memory: Path | None = None  # a folder in the host's memory, where it keeps the guest's; None: in the trial's folder
    clock: int | None = None  # where its memory holds virtual time (u64, ns since boot); None: there is none to watch


class Kernel(Protocol):
    """Every kernel that is ready to run trials offers this."""

    @property
    def on(self) -> Place:
        """Say where it runs."""

    @property
    def name(self) -> str:
        """Return what a person calls it."""

    @property
    def id(self) -> str:
        """Identify it by all that decides how it behaves."""

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """Return the clocks that it can run by, the usual one first."""

    def describe(self) -> dict[str, Any]:
        """Return what a trial records of it: no paths, and the same on every machine."""

    def variant(self, wanted: ResolvedVariant) -> Kernel:
        """Return the kernel that differs as `wanted` says. Raises MachineError when there is none."""

    def lacks(self, queue: str) -> bool:
        """Return whether it is known to have no queue (qdisc) of this kind."""

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:
        """Say how a guest starts for the trial in `folder`. Raises MachineError when it cannot."""


def folder() -> Path:
    """Return where kernels are kept."""
    return cache.folder("kernels")
