"""Fetch short transfers, each over a new connection.

The transfers begin at random times, like the transfers of independent users.
"""

from __future__ import annotations

import errno
import json
import os
import selectors
import socket
import time
from itertools import accumulate
from typing import ClassVar

from lab.guest import outputs
from lab.guest.task import Count, IpNumber, Reader, Task, Writer
from lab.guest.testbed import Testbed, WorkloadError
from lab.guest.workload.sockets import MARGIN_SECONDS, control_congestion, make_room, stream
from lab.units import Duration, Size

PORT = 5004
BLOCK = 1 << 20


class Arrivals(Task, frozen=True):
    """Connects `count` times from `client`. On each connection, `server` sends `size` bytes at once and closes the
    connection.

    The connections form a Poisson process with a mean `interval`, drawn from the seed; with `even`, they begin at
    exactly this interval. Writes transfers.json, with one entry per transfer in the order of their starts: `start_ns`,
    before the transfer connects, and `end_ns`, when its last byte has arrived (nanoseconds on the trial's wall clock).
    """

    greedy: ClassVar[bool] = True
    server_sends: ClassVar[bool] = True

    client: str = "receiver"
    server: str = "sender"
    count: Count = 1000
    interval: Duration = Duration.of("10 ms")
    size: Size = Size.of("14600 B")
    even: bool = False
    congestion: str = "cubic"
    ip: IpNumber = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.size:
            raise ValueError(f"{self.count} transfers of {self.size} are none")

    def writer(self) -> Writer:
        """Return how the sender writes: it passes all data to the kernel at once, with sendfile."""
        return Writer(size=self.size.bytes, write_size=self.size.bytes, sendfile=True, congestion=self.congestion)

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run all transfers. Raises WorkloadError if the transfers do not end in time."""
        draws = testbed.draws()
        pauses = [1.0 if self.even else draws.expovariate(1) for _ in range(self.count)]
        due = [round(each * self.interval.ns) for each in accumulate(pauses)]
        port = testbed.port(PORT)
        address = testbed.address(self.server, self.ip), port
        server = testbed.spawn(self.server, lambda: self._serve(port))
        testbed.wait_for_listener(server, port)
        client = testbed.spawn(self.client, lambda: self._fetch(address, due, testbed))
        client.wait("the client of the arrivals", due[-1] / 1e9 + MARGIN_SECONDS)
        server.wait("the server of the arrivals", MARGIN_SECONDS)

    def _serve(self, port: int) -> None:
        make_room(self.count)
        block, size = os.memfd_create("block"), self.size.bytes
        os.truncate(block, size)
        with stream(self.ip) as listener, selectors.DefaultSelector() as waiting:
            control_congestion(listener, self.congestion)  # accepted connections inherit it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("", port))
            listener.listen(self.count)
            waiting.register(listener, selectors.EVENT_READ)
            sent: dict[int, int] = {}
            accepted = 0
            while accepted < self.count or sent:
                for key, _ in waiting.select():
                    if key.fileobj is listener:
                        sock, _ = listener.accept()
                        sock.setblocking(False)
                        waiting.register(sock, selectors.EVENT_WRITE)
                        sent[sock.fileno()] = 0
                        accepted += 1
                        continue
                    sock = key.fileobj  # type: ignore[assignment]  # only sockets are registered
                    if sent[key.fd] == size:  # the client has closed it: until then the kernel needs its owner
                        waiting.unregister(sock)
                        del sent[key.fd]
                        sock.close()
                        continue
                    sent[key.fd] += os.sendfile(key.fd, block, sent[key.fd], size - sent[key.fd])
                    if sent[key.fd] == size:
                        sock.shutdown(socket.SHUT_WR)
                        waiting.modify(sock, selectors.EVENT_READ)

    def _fetch(self, address: tuple[str, int], due: list[int], testbed: Testbed) -> None:
        make_room(self.count)
        scratch, flags = bytearray(BLOCK), socket.MSG_TRUNC
        start_ns, end_ns, left = [0] * self.count, [0] * self.count, [self.size.bytes] * self.count
        begin, begun, ended = time.monotonic_ns(), 0, 0
        with selectors.DefaultSelector() as waiting:
            while ended < self.count:
                wait = None if begun == self.count else max(0.0, (begin + due[begun] - time.monotonic_ns()) / 1e9)
                for key, _ in waiting.select(wait):
                    sock: socket.socket = key.fileobj  # type: ignore[assignment]
                    try:
                        count = sock.recv_into(scratch, BLOCK, flags)
                    except OSError as error:
                        raise WorkloadError(f"transfer {key.data + 1:,} of {self.count:,}: {error}") from None
                    left[key.data] -= count
                    if count and not left[key.data]:
                        end_ns[key.data] = time.time_ns()  # the FIN may arrive a round trip later
                    if not count:
                        ended += 1
                        waiting.unregister(sock)
                        sock.close()
                while begun < self.count and time.monotonic_ns() >= begin + due[begun]:
                    sock = stream(self.ip)
                    sock.setblocking(False)
                    start_ns[begun] = time.time_ns()
                    refused = sock.connect_ex(address)
                    if refused not in (0, errno.EINPROGRESS):
                        raise WorkloadError(f"transfer {begun + 1:,} of {self.count:,}: {os.strerror(refused)}")
                    waiting.register(sock, selectors.EVENT_READ, begun)
                    begun += 1
        (testbed.out / outputs.TRANSFERS).write_text(json.dumps({"start_ns": start_ns, "end_ns": end_ns}) + "\n")
