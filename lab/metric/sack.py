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
    rows = np.flatnonzero(sack[segments.packet])
    packets = segments.packet[rows]
    edges = zip(rows.tolist(), segments.ack[rows].tolist(), raw[packets].tolist(), strict=True)
    for (row, ack, low), options in zip(edges, capture.options_of(packets.tolist()), strict=True):
        found[row] = tuple((ack + distance(low, left), ack + distance(low, right)) for left, right in options.sack)
    return found


def distance(start: int, end: int) -> int:
    """Return the signed distance from one sequence number to another, modulo 2^32 and less than 2^31 in size."""
    return (end - start + 2**31) % 2**32 - 2**31
