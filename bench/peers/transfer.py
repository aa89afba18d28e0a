"""The transfers that every peer runs, and the commands of the program that sends and receives."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

BULK = Path(__file__).with_name("bulk.py")
PORT = 5001
PAYLOAD, FRAME = 1448, 1538  # bytes: with TCP's timestamps, and with preamble, FCS and gap
SLOT = 0.1  # seconds: bulk.py and ns3.cc count bytes for each


@dataclass(frozen=True, slots=True)
class Transfer:
    """Describes one TCP transfer over a link of two hosts."""

    name: str  # the experiment of the lab that is the same transfer
    title: str
    gigabits: int  # a second, of frames
    seconds: int
    delay_ms: int  # each way
    window: tuple[float, float]  # seconds after the connection's start, in which goodput counts
    congestion: str

    @property
    def physics(self) -> float:
        """Return the largest goodput that the link can carry in frames, in bit/s: PAYLOAD of FRAME bytes."""
        return self.gigabits * 1e9 * PAYLOAD / FRAME

    @property
    def buffer(self) -> int:
        """Return the size of a queue that holds two products of rate and round trip, and a millisecond at least."""
        return int(self.gigabits * 1e9 / 8 * max(4 * self.delay_ms, 2) / 1e3)

    def receive(self) -> list[str]:
        """Return the receiver's command."""
        return [sys.executable, "-I", "-S", str(BULK), "receive", str(PORT)]

    def send(self, address: str) -> list[str]:
        """Return the sender's command. Mind a shell: `address` may be one of its variables."""
        options = [address, str(PORT), str(self.seconds), self.congestion]
        return [sys.executable, "-I", "-S", str(BULK), "send", *options]


# BBR on the long path: CUBIC leaves slow start at half of the window, and takes longer than the transfer to fill it.
TRANSFERS = (
    Transfer("bulk-1g-10ms", "10 s of 1 Gbit/s, 10 ms each way", 1, 10, 10, (0.5, 9.5), "bbr"),
    Transfer("bulk-10g", "2 s of 10 Gbit/s, no delay", 10, 2, 0, (0.2, 1.8), "cubic"),
)


def named(name: str) -> Transfer:
    """Return the transfer with this name."""
    return next(each for each in TRANSFERS if each.name == name)
