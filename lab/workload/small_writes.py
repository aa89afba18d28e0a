"""Write messages in small pieces, each answered before the next: the pair of programs that TCP_NODELAY is about."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from typing import ClassVar, Literal

from lab import outputs
from lab.spec.task import Messages, Reader, Task, Writer
from lab.testbed import Testbed
from lab.units import Size
from lab.workload.sockets import MARGIN_SECONDS, accept, stream

PORT = 5001
REPLY = 2  # bytes
MESSAGE_SECONDS = 1.0  # more than two delayed ACKs at their longest

WriteStyle = Literal["plain", "nodelay", "cork", "writev", "one-buffer"]


class SmallWrites(Task, frozen=True):
    """Sends `messages`, each of `writes` pieces of `size`, from `client` to `server`, and waits for 2 bytes after each.

    Leaves small_writes.json: `stamps_ns`, the client's clock before the first message and after each answer, and per
    message `message_bytes`, `file_bytes` (a part of them) and `reply_bytes`.
    """

    greedy: ClassVar[bool] = False

    client: str = "sender"
    server: str = "receiver"
    messages: int = 10_000
    writes: int = 15
    size: Size = Size(2)
    # `plain` and `nodelay` write piece by piece, without and with TCP_NODELAY; `cork` too, within TCP_CORK;
    # `writev` and `one-buffer` write once with TCP_NODELAY, a vector of the pieces or a copy of them in a row
    way: WriteStyle = "plain"
    # this much of a file follows each message's pieces by sendfile, within the cork where there is one
    file: Size = Size(0)
    ip: int = 4

    def __post_init__(self) -> None:
        if self.messages < 1 or self.writes < 1 or not self.size:
            raise ValueError("there should be at least one message of one write of one byte")

    @property
    def message(self) -> Size:
        """The size of a message, after which the server answers."""
        return Size(self.writes * self.size.bytes + self.file.bytes)

    @property
    def nodelay(self) -> bool:
        """Whether the client sets TCP_NODELAY."""
        return self.way in ("nodelay", "writev", "one-buffer")

    def writer(self) -> Writer:
        """It writes the pieces of a message one by one, or all of them by one call."""
        at_once = self.way in ("writev", "one-buffer")
        pieces = (self.writes * self.size.bytes,) if at_once else (self.size.bytes,) * self.writes
        cork = self.way == "cork"
        return Writer(messages=Messages(self.messages, pieces, self.file.bytes, REPLY, self.nodelay, cork))

    def reader(self) -> Reader:
        """It reads what there is, and answers a whole message."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Exchange all messages. Raises WorkloadError when this does not end in its time."""
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
