"""Exchange small messages at a human pace, as telnet, ssh and remote procedure calls do, answered or not."""

from __future__ import annotations

import socket
import time
from typing import ClassVar

from lab.spec.task import Reader, Task, Writer
from lab.testbed import Testbed
from lab.units import Duration, Size
from lab.workload.sockets import MARGIN_SECONDS, accept, stream

PORT = 5003


class RequestResponse(Task, frozen=True):
    """Sends `count` requests from `client`, one per `interval`; `server` answers each after it has thought for `think`.

    The server reads nothing before it has been `asleep`, and never answers without a `response`. A request waits for
    the answer to the one before. Both ends set TCP_NODELAY. The captures hold the result; there is no other output.
    """

    greedy: ClassVar[bool] = False

    client: str = "sender"
    server: str = "receiver"
    count: int = 50
    interval: Duration = Duration.of("100 ms")
    request: Size = Size(1)
    response: Size = Size(0)
    think: Duration = Duration(0)
    asleep: Duration = Duration(0)
    ip: int = 4

    def __post_init__(self) -> None:
        if self.count < 1 or not self.request:
            raise ValueError(f"{self.count} requests of {self.request} are no exchange")

    def writer(self) -> Writer:
        """It writes a request per interval."""
        return Writer(write_size=self.request.bytes, interval=self.interval)

    def reader(self) -> Reader:
        """It sleeps before it reads anything, and thinks before it answers."""
        return Reader(asleep=self.asleep, think=self.think)

    def run(self, testbed: Testbed) -> None:
        """Run the exchange. Raises WorkloadError when it does not end in its time."""
        port = testbed.port(PORT)
        address = testbed.address(self.server, self.ip), port
        server = testbed.spawn(self.server, lambda: self._serve(port))
        testbed.wait_for_listener(server, port)
        client = testbed.spawn(self.client, lambda: self._ask(address))
        seconds = self.count * (self.interval.seconds + self.think.seconds) + self.asleep.seconds + MARGIN_SECONDS
        client.wait("the client", seconds)
        server.wait("the server", seconds)

    def _ask(self, address: tuple[str, int]) -> None:
        with stream(self.ip, nodelay=True) as sock:
            sock.connect(address)
            start = time.monotonic_ns()
            for turn in range(1, self.count + 1):
                time.sleep(max(0.0, (start + turn * self.interval.ns - time.monotonic_ns()) / 1e9))
                sock.sendall(bytes(self.request.bytes))
                if self.response:
                    _read(sock, self.response.bytes)

    def _serve(self, port: int) -> None:
        with accept(self.ip, port, nodelay=True) as sock:
            time.sleep(self.asleep.seconds)
            while _read(sock, self.request.bytes):
                if self.response:
                    time.sleep(self.think.seconds)
                    sock.sendall(bytes(self.response.bytes))


def _read(sock: socket.socket, size: int) -> bytes:
    """Read `size` bytes; fewer when the other end has closed."""
    return sock.recv(size, socket.MSG_WAITALL)
