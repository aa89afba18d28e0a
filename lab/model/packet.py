"""Describe what goes over a connection, as its two ends see it."""

from __future__ import annotations

from typing import NamedTuple

from lab.units import Size

SYN, ACK = Size(60), Size(52)  # IP packets: 20, 20 and the options


class Segment(NamedTuple):
    """Describes the data of a packet."""

    len: int  # payload, bytes
    frags: int  # pieces of pages that it lies in
    psh: bool
    tsecr: int  # the timestamp that it echoes, ms
    cloned: bool = False  # whether it is a whole skb of the sender's, which keeps that until it is acknowledged


class Ack(NamedTuple):
    """Describes what a packet acknowledges."""

    ack_seq: int
    window: int  # the window offered with it, bytes
    tsval: int  # its timestamp, ms
    len: int = 0  # bytes of data in the same packet
