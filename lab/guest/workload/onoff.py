"""Send datagrams at a fixed rate, on and off: cross traffic that does not react to the network."""

from __future__ import annotations

import json
import signal
import socket
import time
from typing import ClassVar

from lab.guest import outputs
from lab.guest.task import IpNumber, Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS, pause_until
from lab.units import Duration, Rate, Size

PORT = 5005
HEADERS = {4: 66, 6: 86}  # of a datagram on the wire: UDP, IP, and Ethernet with preamble and gap
DRAIN_SECONDS = 5.0  # for queued datagrams to arrive


class OnOff(Task, frozen=True):
    """Sends UDP from `client` to `server` for `duration`: at `rate` (of whole frames) while on, no packets while off.

    The periods are exponentially distributed with the mean lengths `on` and `off`, drawn from the seed; with `even`,
    they have exactly these lengths. Writes datagrams.json, with the number `received`, and datagrams.sender.json, with
    the number `sent`.
    """

    greedy: ClassVar[bool] = False

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("10 s")
    rate: Rate = Rate.of("10 Mbit/s")
    on: Duration = Duration.of("1 s")
    off: Duration = Duration.of("1 s")
    size: Size = Size(1472)
    even: bool = False
    ip: IpNumber = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rate or not self.on or not self.size:
            raise ValueError(f"{self.rate} for {self.on} in datagrams of {self.size} is no traffic")

    def writer(self) -> Writer:
        """Return how the sender writes: no stream of data. Without pauses, the sender offers `rate`."""
        return Writer(duration=self.duration, offered=None if self.off else self.rate)

    def reader(self) -> Reader:
        """Return how the receiver reads: no stream of data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Send all datagrams. Raises WorkloadError if the sender does not finish in time."""
        port = testbed.port(PORT)
        address = testbed.address(self.server, self.ip), port
        server = testbed.spawn(self.server, lambda: self._receive(port, testbed))
        testbed.wait_for_listener(server, port, "udp")
        client = testbed.spawn(self.client, lambda: self._send(address, testbed))
        client.wait("the on-off sender", self.duration.seconds + MARGIN_SECONDS)
        time.sleep(DRAIN_SECONDS)
        server.stop("the on-off receiver")

    def _send(self, address: tuple[str, int], testbed: Testbed) -> None:
        draws, sent = testbed.draws(), 0
        payload, step = bytes(self.size.bytes), 8e9 * (self.size.bytes + HEADERS[self.ip]) / self.rate.bps
        with _datagrams(self.ip) as sock:
            now = time.monotonic_ns()
            end = now + self.duration.ns
            due = float(now)
            while due < end:
                off = due + self.on.ns * (1 if self.even else draws.expovariate(1))
                while due < min(off, end):
                    pause_until(due)
                    sock.sendto(payload, address)
                    sent += 1
                    due += step
                due = off + self.off.ns * (1 if self.even else draws.expovariate(1))
        (testbed.out / outputs.DATAGRAMS_SENDER).write_text(json.dumps({"sent": sent}) + "\n")

    def _receive(self, port: int, testbed: Testbed) -> None:
        received, scratch = 0, bytearray(1)
        signal.signal(signal.SIGTERM, _stop)
        with _datagrams(self.ip) as sock:
            sock.bind(("", port))
            try:
                while True:
                    sock.recv_into(scratch, 1, socket.MSG_TRUNC)
                    received += 1
            except _Stopped:
                (testbed.out / outputs.DATAGRAMS).write_text(json.dumps({"received": received}) + "\n")


class _Stopped(Exception):
    """Raised in the receiver when the sender has finished."""


def _stop(*_: object) -> None:
    raise _Stopped


def _datagrams(ip: int) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ip == 6 else socket.AF_INET, socket.SOCK_DGRAM)
