"""Read SACK blocks (RFC 2018) as a connection's unwrapped sequence numbers."""

from __future__ import annotations

from collections.abc import Mapping

from lab.metric.arrays import np
from lab.metric.capture import Capture
from lab.metric.flow import Segments

Blocks = tuple[tuple[int, int], ...]


def sack_blocks(capture: Capture, segments: Segments) -> Mapping[int, Blocks]:
    """Return the blocks of each row of `segments`, as (left, right) edges in the order sent, unwrapped like `ack`."""
    found: dict[int, Blocks] = {}
    sack, raw = capture.columns("sack", "ack")
    for row in np.flatnonzero(sack[segments.packet]).tolist():
        packet, ack = int(segments.packet[row]), int(segments.ack[row])
        low = int(raw[packet])
        found[row] = tuple(
            (ack + distance(low, left), ack + distance(low, right)) for left, right in capture.options(packet).sack
        )
    return found


def distance(start: int, end: int) -> int:
    """Return the signed distance from one sequence number to another, modulo 2^32 and less than 2^31 in size."""
    return (end - start + 2**31) % 2**32 - 2**31
