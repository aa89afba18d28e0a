"""Describe the packets of a connection."""

from __future__ import annotations

from typing import NamedTuple

from lab.units import Size

SYN, ACK = Size(60), Size(52)  # IP packets: 20, 20 and the options


class Segment(NamedTuple):
    """Describes the data of a packet."""

    len: int  # payload, bytes
    frags: int  # page fragments that hold it
    psh: bool
    tsecr: int  # the timestamp that it echoes, ms
    cloned: bool = False  # whether it is a whole skb, which the sender keeps until it is acknowledged


class Ack(NamedTuple):
    """Describes the acknowledgement in a packet."""

    ack_seq: int
    window: int  # the window offered with it, bytes
    tsval: int  # its timestamp, ms
    len: int = 0  # bytes of data in the same packet
