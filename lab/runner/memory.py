"""Say how much memory a guest has. It is the same on every machine: the kernel sizes tables and limits by it."""

from __future__ import annotations

from lab.spec.network import Network
from lab.units import Size

__all__ = ["MEMORY", "memory_of"]

MEMORY = Size.of("1 GiB")  # a full wire of 100 ms at 10 Gbit/s holds 125 MB of frames, and what the kernel adds to each
NODES = 1000  # that it has room for
FURTHER = Size.of("320 KiB")  # of each further one, with its links: 290 KiB were measured (docs/hands-on.md)


def memory_of(network: Network) -> Size:
    """Return the memory of a guest with this network."""
    return Size(MEMORY.bytes + max(0, len(network.nodes) - NODES) * FURTHER.bytes)
