"""Exchange small messages at a human pace, with or without answers, as telnet, ssh and remote procedure calls do."""

from __future__ import annotations

import socket
import time
from typing import ClassVar

from lab.guest.task import Count, IpNumber, Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS, accept, pause, pause_until, stream
from lab.units import Duration, Size

PORT = 5003


class RequestResponse(Task, frozen=True):
    """Sends `count` requests from `client`, one per `interval`. `server` answers each request after the time `think`.

    The server reads no data during the time `asleep`, and never answers if `response` is zero. A request waits for the
    answer to the previous request. Both ends set TCP_NODELAY. The captures hold the result; there is no other output.
    """

    greedy: ClassVar[bool] = False

    client: str = "sender"
    server: str = "receiver"
    count: Count = 50
    interval: Duration = Duration.of("100 ms")
    request: Size = Size(1)
    response: Size = Size(0)
    think: Duration = Duration(0)
    asleep: Duration = Duration(0)
    ip: IpNumber = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.request:
            raise ValueError(f"{self.count} requests of {self.request} are no exchange")

    def writer(self) -> Writer:
        """Return how the client writes: a request per interval."""
        return Writer(write_size=self.request.bytes, interval=self.interval)

    def reader(self) -> Reader:
        """Return how the server reads: it sleeps before its first read, and thinks before it answers."""
        return Reader(asleep=self.asleep, think=self.think)

    def run(self, testbed: Testbed) -> None:
        """Run the exchange. Raises WorkloadError if the exchange does not end in time."""
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
                pause_until(start + turn * self.interval.ns)
                sock.sendall(bytes(self.request.bytes))
                if self.response:
                    _read(sock, self.response.bytes)

    def _serve(self, port: int) -> None:
        with accept(self.ip, port, nodelay=True) as sock:
            pause(self.asleep.seconds)
            while _read(sock, self.request.bytes):
                if self.response:
                    pause(self.think.seconds)
                    sock.sendall(bytes(self.response.bytes))


def _read(sock: socket.socket, size: int) -> bytes:
    """Return `size` bytes, or fewer if the other end has closed."""
    return sock.recv(size, socket.MSG_WAITALL)
