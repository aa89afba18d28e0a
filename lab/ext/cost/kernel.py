"""Wrap a distribution kernel so that QEMU counts its instructions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from lab.ext.cost import plugin
from lab.guest.clock import Clock, Place
from lab.machine.kernel.base import Start
from lab.machine.kernel.root import Root
from lab.machine.kernel.vm import root
from lab.machine.kernel.vm.stock import StockKernel
from lab.spec.variant import ResolvedVariant
from lab.units import Size


@dataclass(frozen=True)
class CountedKernel:
    """Describes a distribution kernel whose trials leave counts of instructions.

    The guest is the same as without counts. The trial's address is different, because the record has one file more.
    """

    on: ClassVar[Place] = "vm"
    clocks: ClassVar[tuple[Clock, ...]] = ("virtual",)

    name: str  # differs from the names of the other kernels of a comparison
    stock: StockKernel
    symbols: Path  # a file from `lab.ext.cost.symbols`

    @property
    def id(self) -> str:
        """The id of the distribution kernel."""
        return self.stock.id

    def describe(self) -> dict[str, Any]:
        """Return the kernel's description in a trial, with hashes of the plugin that counts and of the guest's files.

        Counts are the same to the last instruction only with the same files. So a trial with different files has a
        different address.
        """
        files = root.archive(self._home).stem.rpartition("-")[2]
        described = self.stock.describe()
        machine = f"{described['machine']}, which counts instructions"
        return {**described, "machine": machine, "counter": plugin.digest(), "files": files}

    def variant(self, wanted: ResolvedVariant) -> CountedKernel:
        """Raise MachineError, because a distribution kernel has no variants."""
        return replace(self, stock=self.stock.variant(wanted))

    def lacks(self, queue: str) -> bool:
        """Return whether the kernel is known to lack a queue (qdisc) of this kind."""
        return self.stock.lacks(queue)

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, seen: Root) -> Start:
        """Return the `Start` of a guest, with the plugin. Raises MachineError if no guest can start."""
        start = self.stock.start(folder, seed, clock, memory, seen)
        counting = plugin.arguments(self._home, self.symbols)
        return replace(start, command=(*start.command, *counting))

    @property
    def _home(self) -> Path:
        return self.stock.folder.parent
