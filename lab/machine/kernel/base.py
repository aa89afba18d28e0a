"""Define the interface of a kernel under test and how a process becomes its guest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lab.base import cache
from lab.errors import MachineError
from lab.guest.clock import Clock, Place
from lab.machine.kernel.containment import Containment
from lab.machine.kernel.root import Root
from lab.spec.variant import ResolvedVariant
from lab.units import Size

HOST_MEMORY = Path("/dev/shm")  # files there are in the host's memory


class KernelMissing(MachineError):
    """Raised if the requested kernel is not in the cache."""


@dataclass(frozen=True, slots=True)
class Start:
    """Describes the host program that becomes a guest. The program runs in the trial's folder.

    The program runs the job in boot/ (lab.guest.init.Job) and writes boot/status, as `lab.guest.init` does.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    containment: Containment | None = None  # None: it is not confined
    memory: Path | None = None  # a folder in the host's memory for the guest's memory; None: in the trial's folder
    clock: int | None = None  # the address of virtual time in its memory (u64, ns since boot); None: it has none


class Kernel(Protocol):
    """Every kernel that is ready to run trials has this interface."""

    @property
    def on(self) -> Place:
        """Return the place where the kernel runs."""

    @property
    def name(self) -> str:
        """The display name."""

    @property
    def id(self) -> str:
        """The id, a hash of all inputs that decide the kernel's behaviour."""

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The clocks that the kernel can run on, the default first."""

    def describe(self) -> dict[str, Any]:
        """Return the kernel's description in a trial, without paths, so that all machines give equal descriptions."""

    def variant(self, wanted: ResolvedVariant) -> Kernel:
        """Return the variant of this kernel with the changes `wanted`.

        Raises MachineError if there is no such kernel.
        """

    def lacks(self, queue: str) -> bool:
        """Return whether the kernel is known to lack a queue (qdisc) of this kind."""

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:
        """Return the `Start` of a guest for the trial in `folder`. Raises MachineError if no guest can start."""


def folder() -> Path:
    """Return the folder that holds kernels."""
    return cache.folder("kernels")
