"""Describe the packets of a connection."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(slots=True)
class Burst:
    """Describes segments of equal length that follow each other. Those of a later write may have left later."""

    arrivals: list[int]  # when each arrives
    seq: int  # where the first segment begins
    length: int  # of each segment, bytes
    psh: bool  # of the last segment
    tsecr: int
    cloned: bool
    page: int  # the bytes of a page that holds payload
    at: int = 0  # how many have arrived

    @property
    def next(self) -> int:
        """Return when the next segment arrives."""
        return self.arrivals[self.at]

    def continues(self, seq: int, length: int, tsecr: int, cloned: bool) -> bool:
        """Return whether segments from `seq` on continue this burst."""
        like = not self.psh and self.length == length and self.tsecr == tsecr and self.cloned == cloned
        return like and self.seq + len(self.arrivals) * length == seq

    def frags(self, number: int) -> int:
        """Return how many pages hold the payload of a segment."""
        seq = self.seq + number * self.length
        return (seq + self.length - 1) // self.page - seq // self.page + 1

    def segment(self) -> Segment:
        """Return the next segment."""
        psh = self.psh and self.at + 1 == len(self.arrivals)
        return Segment(self.length, self.frags(self.at), psh, self.tsecr, self.cloned)
