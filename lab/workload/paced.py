"""A bulk TCP transfer to a reader who takes his time: the receive buffer fills, and the sender follows the reader."""

from __future__ import annotations

import os
import socket
import time

import msgspec

from lab.place import Place
from lab.units import Duration, Rate, Size

PORT = 5002
MARGIN_SECONDS = 60.0


class PacedReader(msgspec.Struct, frozen=True, tag="paced_reader", tag_field="kind", forbid_unknown_fields=True):
    """`client` sends as much as `server` reads in `duration`: `block` bytes at a time, so often that it is `rate`.

    What it leaves is in the captures; it has no output of its own.
    """

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("2 s")
    rate: Rate = Rate.of("100 Mbit/s")
    block: Size = Size.of("64 KiB")
    ip: int = 4

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ValueError(f"{self.block} at {self.rate} take longer than {self.duration}: nothing would be read")

    @property
    def blocks(self) -> int:
        """How often it reads."""
        return self.duration.ns * self.rate.bps // (8 * 10**9 * self.block.bytes) if self.block else 0

    @property
    def greedy(self) -> bool:
        """Whether it sends as fast as the network takes it."""
        return True

    def tools(self) -> tuple[str, ...]:
        """No tool of another's."""
        return ()

    def run(self, place: Place) -> None:
        """Transfer. Raises WorkloadError when it does not end in its time."""
        address = place.address(self.server, self.ip)
        receiver = place.spawn(self.server, self._receive)
        place.wait_for_listener(receiver, PORT)
        sender = place.spawn(self.client, lambda: self._send(address))
        seconds = self.duration.seconds + MARGIN_SECONDS
        sender.wait("the sender", seconds)
        receiver.wait("the paced reader", seconds)

    def _family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if self.ip == 6 else socket.AF_INET

    def _send(self, address: str) -> None:
        block = os.memfd_create("block")
        os.truncate(block, self.block.bytes)
        with socket.socket(self._family(), socket.SOCK_STREAM) as sock:
            sock.connect((address, PORT))
            left = self.blocks * self.block.bytes
            while left:
                left -= os.sendfile(sock.fileno(), block, 0, min(left, self.block.bytes))

    def _receive(self) -> None:
        """Reads at fixed times from the first block's arrival on, whatever has come by then or later."""
        with socket.socket(self._family(), socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("", PORT))
            listener.listen(1)
            sock, _ = listener.accept()
        scratch, pause = bytearray(self.block.bytes), 8 * 10**9 * self.block.bytes / self.rate.bps
        start = time.monotonic_ns()
        with sock:
            for turn in range(1, self.blocks + 1):
                time.sleep(max(0.0, (start + turn * pause - time.monotonic_ns()) / 1e9))
                sock.recv_into(scratch, self.block.bytes, socket.MSG_TRUNC | socket.MSG_WAITALL)
