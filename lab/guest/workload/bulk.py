"""Transfer bulk data over TCP as fast as the network carries it, with the fewest wake-ups.

In a guest, a context switch is expensive, but a packet is not. So the sender passes pages to the kernel instead of
bytes to copy (sendfile). The receiver sleeps in one long read (MSG_WAITALL) of data that the kernel discards
(MSG_TRUNC), and wakes once per `watermark` bytes (SO_RCVLOWAT). A watermark of 64 KiB was too large: it is most of the
receiver's first window, so the window closed, and the sender sent short segments at the window's edge.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import termios
import time
from typing import ClassVar

from lab.guest import outputs
from lab.guest.task import IpNumber, Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS, accept, control_congestion, pause, stream
from lab.units import Duration, Size

PORT = 5001
BLOCK = 1 << 20


class Bulk(Task, frozen=True):
    """Sends data from `client` to `server`, `block` by `block`, for `duration`, or until `size` bytes are sent.

    Writes bulk.json. The file has the number of `bytes` received, the time `last_ns` of the last byte, and the
    `first_bytes` (at least a watermark) that had arrived at `first_ns` (nanoseconds on the trial's wall clock). Also
    leaves bulk.sender.json, with `start_ns`, before the sender connects.
    """

    greedy: ClassVar[bool] = True

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("10 s")
    size: Size | None = None
    block: Size = Size.of("1 MiB")
    effort: Duration = Duration(0)  # the writer's time for each block, because virtual time counts no CPU time
    ip: IpNumber = 4
    congestion: str = "cubic"
    watermark: Size = Size.of("16 KiB")
    maxseg: Size | None = None  # if given, the sending socket sets TCP_MAXSEG to it before it connects

    def writer(self) -> Writer:
        """Return how the sender writes: the same pages, block by block, until the end of the last block that begins in
        time.
        """
        return Writer(
            size=None if self.size is None else self.size.bytes,
            duration=self.duration,
            write_size=self.block.bytes,
            cpu_per_write=self.effort,
            sendfile=True,
            congestion=self.congestion,
            maxseg=None if self.maxseg is None else self.maxseg.bytes,
        )

    def reader(self) -> Reader:
        """Return how the receiver reads: first as much as a watermark, then a block at a time."""
        watermark = self.watermark.bytes
        return Reader(rcvlowat=watermark, first_read_size=watermark, read_size=BLOCK)

    def run(self, testbed: Testbed) -> None:
        """Run the transfer. Raises WorkloadError if the transfer does not end in time."""
        address = testbed.address(self.server, self.ip), testbed.port(PORT)
        receiver = testbed.spawn(self.server, lambda: self._receive(testbed))
        testbed.wait_for_listener(receiver, testbed.port(PORT))
        sender = testbed.spawn(self.client, lambda: self._send(testbed, address))
        seconds = self.duration.seconds + MARGIN_SECONDS
        sender.wait("the bulk sender", seconds)
        receiver.wait("the bulk receiver", seconds)

    def _send(self, testbed: Testbed, address: tuple[str, int]) -> None:
        block, size, effort = os.memfd_create("block"), self.block.bytes, self.effort.seconds
        os.truncate(block, size)
        with stream(self.ip) as sock:
            control_congestion(sock, self.congestion)
            if self.maxseg:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.maxseg.bytes)
            start_ns = time.time_ns()
            sock.connect(address)
            if self.size is None:
                end = time.monotonic_ns() + self.duration.ns
                while time.monotonic_ns() < end:
                    pause(effort)
                    os.sendfile(sock.fileno(), block, 0, size)
            else:
                left = self.size.bytes
                while left:
                    left -= os.sendfile(sock.fileno(), block, 0, min(left, size))
        (testbed.out / outputs.BULK_SENDER).write_text(json.dumps({"start_ns": start_ns}) + "\n")

    def _receive(self, testbed: Testbed) -> None:
        sock = accept(self.ip, testbed.port(PORT))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, self.watermark.bytes)
        scratch, flags = bytearray(BLOCK), socket.MSG_TRUNC | socket.MSG_WAITALL
        total = sock.recv_into(scratch, self.watermark.bytes, flags)
        first_ns = last_ns = time.time_ns()
        first_bytes = total + _waiting(sock)
        while count := sock.recv_into(scratch, BLOCK, flags):
            last_ns = time.time_ns()
            total += count
        sock.close()
        measured = {"bytes": total, "first_bytes": first_bytes, "first_ns": first_ns, "last_ns": last_ns}
        (testbed.out / outputs.BULK).write_text(json.dumps(measured) + "\n")


def _waiting(sock: socket.socket) -> int:
    """Return the number of bytes that have arrived but are not read yet."""
    return int.from_bytes(fcntl.ioctl(sock, termios.FIONREAD, bytes(4)), sys.byteorder)
