"""Drop chosen segments and no others, with a BPF program that counts segments.

netem's losses cannot select a segment.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from lab.guest.middlebox import bpf
from lab.guest.middlebox.bpf import PACKET, R1, Counter, Line
from lab.guest.middlebox.program import ETHERTYPE, PROTOCOL, running
from lab.guest.task import Count, Task
from lab.guest.testbed import Testbed, WorkloadError

LENGTH = 16  # the offset of the packet's length in a frame over IPv4
HEADERS = 120  # the most bytes of IPv4 and TCP headers: a longer packet carries data


class DropSegment(Task, frozen=True):
    """Drops the `number`th data packet that leaves `node`, a router, through `interface`.

    The middlebox counts TCP packets over IPv4 of more than 120 bytes. With `every`, it drops each packet whose count is
    a multiple of `number`. Do not use it on a sender, whose TCP would notice the drop and count the segment as never
    sent.
    """

    node: str
    number: Count
    interface: str = "eth1"
    every: bool = False

    def mss_of_syn(self, announced: int, sender: str, receiver: str, patches: Collection[str]) -> int:  # noqa: ARG002
        """Return the announced MSS, because the middlebox does not change SYNs."""
        return announced

    def dropped(self) -> int | None:
        """Return the number of the dropped segment; None if the middlebox drops segments regularly."""
        return None if self.every else self.number

    def loss(self) -> float:
        """Return the share of segments that the middlebox drops regularly; 0 if it drops only one segment."""
        return 1 / self.number if self.every else 0.0

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the middlebox active within this context.

        Raises the errors of MssProgram, and WorkloadError if fewer than `number` segments passed.
        """
        with (
            bpf.counting() as counter,
            running("drop", drop(self.number, counter, self.every), testbed, self.node, self.interface, "out"),
        ):
            yield
            if counter.value < self.number:
                raise WorkloadError(f"segment {self.number} was to be dropped; only {counter.value} left {self.node}")


def drop(number: int, counter: Counter, every: bool = False) -> list[Line]:
    """Return a program that counts data segments, and drops one or every `number`th. Other packets pass untouched."""
    return [
        bpf.move(PACKET, R1),
        *(bpf.load_half(ETHERTYPE), bpf.leave_unless(0x0800)),
        *(bpf.load_byte(PROTOCOL), bpf.leave_unless(socket.IPPROTO_TCP)),
        *(bpf.load_half(LENGTH), bpf.leave_below(HEADERS + 1)),
        *(*bpf.count(counter), *([bpf.remainder(number)] if every else []), bpf.leave_unless(number - 1)),
        *bpf.drop(),
    ]
