"""What goes over a connection, as its two ends see it."""

from __future__ import annotations

from typing import NamedTuple

from lab.units import Size

__all__ = ["SYN", "Ack", "Segment"]

SYN = Size(60)  # IP packet: 20, 20 and 20 of options


class Segment(NamedTuple):
    """The data of a packet."""

    len: int  # payload, bytes
    frags: int  # pieces of pages that it lies in
    psh: bool
    tsecr: int  # the time stamp that it echoes, ms


class Ack(NamedTuple):
    """What a packet acknowledges."""

    ack_seq: int
    window: int  # that is offered with it, bytes
    tsval: int  # its time stamp, ms
    has_data: bool  # whether it brings data, too
