"""Compute a guest's memory size, which is the same on every machine because the kernel derives tables and limits from
it.
"""

from __future__ import annotations

from lab.guest.network import Network
from lab.units import Size

MEMORY = Size.of("1 GiB")  # a full wire of 100 ms at 10 Gbit/s holds 125 MB of frames, and the kernel adds to each
NODES = 1000  # nodes that fit in it
FURTHER = Size.of("320 KiB")  # for each further node with its links: 290 KiB were measured (docs/hands-on.md)


def memory_of(network: Network) -> Size:
    """Return the memory size of a guest with this network."""
    return Size(MEMORY.bytes + max(0, len(network.nodes) - NODES) * FURTHER.bytes)
