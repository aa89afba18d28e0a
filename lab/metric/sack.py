"""Read SACK blocks (RFC 2018) in the sequence numbers of a connection."""

from __future__ import annotations

from collections.abc import Mapping

from lab.metric.arrays import np
from lab.metric.capture import Capture
from lab.metric.flow import Segments

__all__ = ["Blocks", "sack_blocks"]

Blocks = tuple[tuple[int, int], ...]


def sack_blocks(capture: Capture, segments: Segments) -> Mapping[int, Blocks]:
    """Map rows of `segments` to their blocks as (left, right) edges, in the order sent, unwrapped as their `ack` is."""
    found: dict[int, Blocks] = {}
    sack, raw = capture.columns("sack", "ack")
    for row in np.flatnonzero(sack[segments.packet]).tolist():
        packet, ack = int(segments.packet[row]), int(segments.ack[row])
        low = int(raw[packet])
        found[row] = tuple(
            (ack + _distance(low, left), ack + _distance(low, right)) for left, right in capture.options(packet).sack
        )
    return found


def _distance(start: int, end: int) -> int:
    """Return the distance from one sequence number to another, modulo 2^32 and less than 2^31 either way."""
    return (end - start + 2**31) % 2**32 - 2**31
