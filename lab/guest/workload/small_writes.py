"""Write messages in small pieces, each answered before the next: the traffic for which TCP_NODELAY exists."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from typing import ClassVar, Literal

from lab.guest import outputs
from lab.guest.task import Count, IpNumber, Messages, Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS, accept, stream
from lab.units import Size

PORT = 5001
REPLY = 2  # bytes
MESSAGE_SECONDS = 1.0  # more than two delayed ACKs at their longest

WriteStyle = Literal["plain", "nodelay", "cork", "writev", "one-buffer"]


class SmallWrites(Task, frozen=True):
    """Sends `messages` of `writes` pieces of `size` from `client` to `server`, and waits for 2 bytes after each.

    Writes small_writes.json: `stamps_ns`, the client's clock before the first message and after each answer, and the
    sizes for each message: `message_bytes`, of which `file_bytes` are from the file, and `reply_bytes`.
    """

    greedy: ClassVar[bool] = False

    client: str = "sender"
    server: str = "receiver"
    messages: Count = 10_000
    writes: Count = 15
    size: Size = Size(2)
    # `plain` and `nodelay` write piece by piece, without and with TCP_NODELAY; so does `cork`, within TCP_CORK;
    # `writev` and `one-buffer` write once with TCP_NODELAY: a vector of the pieces, or one buffer with all of them
    way: WriteStyle = "plain"
    # sendfile sends this much of a file after each message's pieces, within the cork if there is one
    file: Size = Size(0)
    ip: IpNumber = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.size:
            raise ValueError("a write should have at least one byte")

    @property
    def message(self) -> Size:
        """The size of a message, which the server answers."""
        return Size(self.writes * self.size.bytes + self.file.bytes)

    @property
    def nodelay(self) -> bool:
        """Whether the client sets TCP_NODELAY."""
        return self.way in ("nodelay", "writev", "one-buffer")

    def writer(self) -> Writer:
        """Return how the sender writes: the pieces of a message one by one, or all in one call."""
        at_once = self.way in ("writev", "one-buffer")
        pieces = (self.writes * self.size.bytes,) if at_once else (self.size.bytes,) * self.writes
        cork = self.way == "cork"
        return Writer(messages=Messages(self.messages, pieces, self.file.bytes, REPLY, self.nodelay, cork))

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data. The receiver answers each whole message."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Exchange all messages. Raises WorkloadError if the exchange does not end in time."""
        port = testbed.port(PORT)
        address = testbed.address(self.server, self.ip), port
        server = testbed.spawn(self.server, lambda: self._serve(port))
        testbed.wait_for_listener(server, port)
        client = testbed.spawn(self.client, lambda: self._ask(address, testbed))
        client.wait("the client of small writes", self.messages * MESSAGE_SECONDS + MARGIN_SECONDS)
        server.wait("the server of small writes", MARGIN_SECONDS)

    def _serve(self, port: int) -> None:
        sock = accept(self.ip, port)
        message, reply = self.message.bytes, bytes(REPLY)
        buffer = bytearray(message)
        with sock:
            for _ in range(self.messages):
                left = message
                while left:
                    count = sock.recv_into(buffer, left)
                    if not count:
                        raise ConnectionError("the client left in the middle of a message")
                    left -= count
                sock.sendall(reply)

    def _ask(self, address: tuple[str, int], testbed: Testbed) -> None:
        with stream(self.ip) as sock:
            if self.nodelay:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(address)
            write = self._writer(sock)
            now, stamps = time.monotonic_ns, []
            stamps.append(now())
            for _ in range(self.messages):
                write()
                sock.recv(REPLY, socket.MSG_WAITALL)
                stamps.append(now())
        sizes = {"message_bytes": self.message.bytes, "file_bytes": self.file.bytes, "reply_bytes": REPLY}
        (testbed.out / outputs.SMALL_WRITES).write_text(json.dumps({**sizes, "stamps_ns": stamps}) + "\n")

    def _writer(self, sock: socket.socket) -> Callable[[], None]:
        """Return the function that writes one message."""
        pieces = [bytes(self.size.bytes)] * self.writes
        block = os.memfd_create("file")
        os.truncate(block, self.file.bytes)

        def one_by_one() -> None:
            for piece in pieces:
                sock.sendall(piece)

        def vector() -> None:
            sock.sendmsg(pieces)

        def copied() -> None:
            sock.sendall(b"".join(pieces))

        def file() -> None:
            left = self.file.bytes
            while left:
                left -= os.sendfile(sock.fileno(), block, self.file.bytes - left, left)

        def corked() -> None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            one_by_one()
            file()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

        if self.way == "cork":
            return corked
        pieces_written = {"writev": vector, "one-buffer": copied}.get(self.way, one_by_one)

        def uncorked() -> None:
            pieces_written()
            file()

        return uncorked
