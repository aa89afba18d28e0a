"""Drop one chosen segment and no other, by a BPF program of ours that counts: dice would not do."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from lab.middlebox import bpf
from lab.middlebox.bpf import PACKET, R1, Counter, Line
from lab.middlebox.program import ETHERTYPE, PROTOCOL, running
from lab.spec.task import Task
from lab.testbed import Testbed, WorkloadError

LENGTH = 16  # where a frame over IPv4 has the length of its packet
HEADERS = 120  # bytes of IPv4 and TCP at most: a longer packet carries data


class DropSegment(Task, frozen=True):
    """Drops the `number`th packet of over 120 bytes with TCP over IPv4 that leaves `node`, a router, by `interface`.

    It does not suit a sender, whose TCP would notice, and count the segment as never sent.
    """

    node: str
    number: int
    interface: str = "eth1"

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"segments are counted from 1: there is no {self.number}")

    def mss_of_syn(self, announced: int, sender: str, receiver: str, patches: Collection[str]) -> int:  # noqa: ARG002
        """It leaves SYNs alone."""
        return announced

    def dropped(self) -> int:
        """It drops one segment."""
        return self.number

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep it in force within this context.

        Raises as MssProgram does, and WorkloadError also when fewer segments passed.
        """
        with (
            bpf.counting() as counter,
            running("drop", drop(self.number, counter), testbed, self.node, self.interface, "out"),
        ):
            yield
            if counter.value < self.number:
                raise WorkloadError(f"segment {self.number} was to be dropped; only {counter.value} left {self.node}")


def drop(number: int, counter: Counter) -> list[Line]:
    """Return a program that counts data segments and drops one; it leaves every other packet as it is."""
    return [
        bpf.move(PACKET, R1),
        *(bpf.load_half(ETHERTYPE), bpf.leave_unless(0x0800)),
        *(bpf.load_byte(PROTOCOL), bpf.leave_unless(socket.IPPROTO_TCP)),
        *(bpf.load_half(LENGTH), bpf.leave_below(HEADERS + 1)),
        *(*bpf.count(counter), bpf.leave_unless(number - 1)),
        *bpf.drop(),
    ]
