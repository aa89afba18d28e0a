"""Send a file of zeroes through netcat, with the time that `time nc` measures.

The file is in memory, so that no disk is involved. A pipe from dd would also work, except at the end: after dd has
ended, nc's poll() returns at once while the socket is full, and virtual time does not advance while nc spins.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import ClassVar

from lab.guest import outputs
from lab.guest.task import Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS
from lab.units import Size

PORT = 1234
SECONDS = 600.0  # enough for the slowest transfer of any claim, with time to spare


class Netcat(Task, frozen=True):
    """Sends `size` zeroes from `server` to `client`.

    The client connects, sends `back` bytes and discards the received data. Writes netcat.json: `start_ns`, before the
    client's nc starts, and `end_ns`, after it has ended (nanoseconds on the trial's wall clock).
    """

    greedy: ClassVar[bool] = True
    tools: ClassVar[tuple[str, ...]] = ("nc.openbsd",)

    server_sends: ClassVar[bool] = True

    ip: ClassVar[int] = 4

    client: str = "receiver"
    server: str = "sender"
    size: Size = Size.of("200 MiB")
    back: Size = Size(0)

    def writer(self) -> Writer:
        """Return how the sender writes: 16 KiB each time poll() reports room."""
        return Writer(size=self.size.bytes, write_size=16 << 10, writes_per_poll=1)

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run the transfer. Raises WorkloadError if the transfer does not end in time."""
        port = testbed.port(PORT)
        address = testbed.address(self.server), str(port)
        server = testbed.spawn(self.server, lambda: self._serve(port))
        testbed.wait_for_listener(server, port)
        client = testbed.spawn(self.client, lambda: self._fetch(testbed, address))
        client.wait("nc at the client", SECONDS)
        server.wait("nc at the server", MARGIN_SECONDS)

    def _serve(self, port: int) -> None:
        # The article's -q 0 does not wait for data that still comes back.
        argv = ["nc.openbsd", "-l", "-N", "-p", str(port)]
        # What comes back would otherwise go to the guest's console, and a console costs more instructions than TCP.
        subprocess.run(argv, stdin=_zeroes(self.size), stdout=subprocess.DEVNULL, check=True)

    def _fetch(self, testbed: Testbed, address: tuple[str, str]) -> None:
        argv = ["nc.openbsd", *address]
        start_ns = time.time_ns()
        subprocess.run(argv, stdin=_zeroes(self.back), stdout=subprocess.DEVNULL, check=True)
        measured = {"start_ns": start_ns, "end_ns": time.time_ns()}
        (testbed.out / outputs.NETCAT).write_text(json.dumps(measured) + "\n")


def _zeroes(size: Size) -> int:
    """Return the descriptor of a file in memory that holds `size` zeroes."""
    file = os.memfd_create("zeroes")
    os.truncate(file, size.bytes)
    return file
