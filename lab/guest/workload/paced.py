"""Transfer bulk data over TCP to a slow reader: the receive buffer fills, and the sender follows the reader."""

from __future__ import annotations

import os
import socket
import time
from typing import ClassVar

from lab.guest.task import IpNumber, Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS, accept, pause_until, stream
from lab.units import Duration, Rate, Size

PORT = 5002


class PacedReader(Task, frozen=True):
    """Sends as much data from `client` as `server` reads in `duration`, `block` bytes at a time, at a mean of `rate`.

    The captures hold the result; there is no other output.
    """

    greedy: ClassVar[bool] = True

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("2 s")
    rate: Rate = Rate.of("100 Mbit/s")
    block: Size = Size.of("64 KiB")
    ip: IpNumber = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.blocks:
            raise ValueError(f"{self.block} at {self.rate} take longer than {self.duration}: nothing would be read")

    @property
    def blocks(self) -> int:
        """The number of blocks that the server reads."""
        return self.duration.ns * self.rate.bps // (8 * 10**9 * self.block.bytes) if self.block else 0

    def writer(self) -> Writer:
        """Return how the sender writes: block by block."""
        return Writer(duration=self.duration, write_size=self.block.bytes)

    def reader(self) -> Reader:
        """Return how the receiver reads: block by block, at its rate."""
        return Reader(first_read_size=self.block.bytes, read_size=self.block.bytes, rate=self.rate)

    def run(self, testbed: Testbed) -> None:
        """Run the transfer. Raises WorkloadError if the transfer does not end in time."""
        port = testbed.port(PORT)
        address = testbed.address(self.server, self.ip), port
        receiver = testbed.spawn(self.server, lambda: self._receive(port))
        testbed.wait_for_listener(receiver, port)
        sender = testbed.spawn(self.client, lambda: self._send(address))
        seconds = self.duration.seconds + MARGIN_SECONDS
        sender.wait("the sender", seconds)
        receiver.wait("the paced reader", seconds)

    def _send(self, address: tuple[str, int]) -> None:
        block = os.memfd_create("block")
        os.truncate(block, self.block.bytes)
        with stream(self.ip) as sock:
            sock.connect(address)
            left = self.blocks * self.block.bytes
            while left:
                left -= os.sendfile(sock.fileno(), block, 0, min(left, self.block.bytes))

    def _receive(self, port: int) -> None:
        """Read the blocks at fixed times after accepting the connection. A read starts later if its block is late."""
        sock = accept(self.ip, port)
        scratch, step = bytearray(self.block.bytes), 8 * 10**9 * self.block.bytes / self.rate.bps
        start = time.monotonic_ns()
        with sock:
            for turn in range(1, self.blocks + 1):
                pause_until(start + turn * step)
                sock.recv_into(scratch, self.block.bytes, socket.MSG_TRUNC | socket.MSG_WAITALL)
