"""Compute a guest's memory size, which is the same on every machine because the kernel derives tables and limits from
it.
"""

from __future__ import annotations

from typing import Any

from lab.errors import MachineError
from lab.guest.network import Network
from lab.guest.trial import Trial
from lab.units import Size, from_plain

MEMORY = Size.of("1 GiB")  # a full wire of 100 ms at 10 Gbit/s holds 125 MB of frames, and the kernel adds to each
NODES = 1000  # nodes that fit in it
FURTHER = Size.of("320 KiB")  # for each further node with its links: 290 KiB were measured (docs/hands-on.md)

MOST = Size.of("64 GiB")  # that a trial may ask for
GIVEN = "memory_mib"  # in the description of a trial's kernel, which boots with it; usually missing


def memory_of(network: Network) -> Size:
    """Return the memory size of a guest with this network."""
    return Size(MEMORY.bytes + max(0, len(network.nodes) - NODES) * FURTHER.bytes)


def given_memory(memory: Size) -> dict[str, Any]:
    """Return what the description of a trial's kernel gets if its guest has this memory, a whole number of MiB."""
    return {GIVEN: memory.bytes >> 20}


def memory_for(trial: Trial) -> Size:
    """Return the memory size of the guest that runs this trial. Raises MachineError if this is too much."""
    given = trial.kernel.get(GIVEN)
    if given is None:
        return memory_of(from_plain(trial.network, Network))
    if type(given) is not int or not 0 < given << 20 <= MOST.bytes:
        raise MachineError(f"the trial's guest cannot have {given!r} MiB of memory; it can have up to {MOST}")
    return Size(given << 20)
