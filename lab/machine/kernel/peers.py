"""Let several guests share one virtual clock and the links between them.

The guests' kernels pass the turn to run through a piece of shared memory, without a process of the lab. The patch
uml/shared-clock.patch describes this. The layout below matches the patch's peers.h.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.errors import InputError
from lab.spec.variant import ResolvedVariant

SHARED = ResolvedVariant(patches=(Path(__file__).parent / "uml" / "shared-clock.patch",))
MAGIC = 0x31737265657062
GUESTS, LINKS = 32, 64  # at most
PAGE = 4096
ROOM = 64 << 20  # bytes on their way to one end at any moment; unused memory costs nothing
_HEAD = struct.Struct("=QIIQQQ")  # magic, guests, links, now, room, turns
_GUEST = struct.Struct("=QII")  # next, turn, called
_LINK = struct.Struct("=HHHHQQ")  # guests of its ends, which of them are up, bytes on the way to each


@dataclass(frozen=True, slots=True)
class Seat:
    """Names a guest's place among the guests that share a clock: a descriptor of the memory, and the guest's number."""

    memory: int
    number: int


class Peers:
    """Holds the memory that `guests` kernels share. `links` holds the numbers of the two guests on each link.

    The first guest runs first. In a guest, link number n is the interface link<n>a, or link<n>b at its second end.

    Raises InputError if there are too many guests or links.
    """

    def __init__(self, guests: int, links: Sequence[tuple[int, int]]) -> None:
        if guests > GUESTS or len(links) > LINKS:
            raise InputError(f"{guests} kernels with {len(links)} links: at most {GUESTS} with {LINKS} share a clock")
        self._memory = os.memfd_create("peers", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._memory, PAGE + 2 * len(links) * ROOM)
        fcntl.fcntl(self._memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        head = _HEAD.pack(MAGIC, guests, len(links), 0, ROOM, 0) + bytes(GUESTS * _GUEST.size)
        os.pwrite(self._memory, head + b"".join(_LINK.pack(*ends, 0, 0, 0, 0) for ends in links), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._memory)

    def seat(self, number: int) -> Seat:
        """Return the place of guest `number`, from 0."""
        return Seat(self._memory, number)

    @property
    def turns(self) -> int:
        """The number of times that one kernel has passed the turn to another."""
        return int(_HEAD.unpack(os.pread(self._memory, _HEAD.size, 0))[5])
