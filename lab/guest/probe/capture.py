"""Capture the packets that pass an interface with tcpdump, with the kernel's nanosecond timestamps."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from lab.guest import outputs
from lab.guest.task import Task
from lab.guest.testbed import Testbed, WorkloadError
from lab.units import Size

READY_SECONDS = 20.0
STOP_SECONDS = 60.0
FLUSH_SECONDS = 1.5  # the kernel hands tcpdump a block of packets within a second
BUFFER_KIB = 8 * 1024


class Capture(Task, frozen=True):
    """Captures `snap` bytes of each packet on `interface` of `node` that passes `filter` (pcap-filter syntax).

    Writes capture.NODE.INTERFACE.pcap. The trial is invalid if the capture missed a packet.
    """

    tools: ClassVar[tuple[str, ...]] = ("tcpdump",)

    node: str = "receiver"
    interface: str = "eth0"
    snap: Size = Size(96)  # holds every header of a TCP segment over IPv4 (14 + 20 + 60); over IPv6 they take 114
    filter: str = ""

    @property
    def file(self) -> str:
        """The name of the capture file."""
        return outputs.capture(self.node, self.interface)

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Capture the packets within this context.

        Raises WorkloadError if tcpdump does not start, or if it loses packets.
        """
        log = (testbed.out / self.file).with_suffix(".log")
        argv = [
            "stdbuf",
            "-o1M",
            "tcpdump",
            "-i",
            self.interface,
            "-n",
            "-s",
            str(self.snap.bytes),
            "-B",
            str(BUFFER_KIB),
        ]
        argv += ["-Z", "root", "--time-stamp-precision=nano", "-w", "-"]
        process = testbed.start(self.node, [*argv, *self.filter.split()], self.file, log.name)
        deadline = time.monotonic() + READY_SECONDS
        while "listening on" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise WorkloadError(f"tcpdump did not start: {outputs.sentence('tcpdump', log.read_text())}")
            time.sleep(0.01)
        yield
        time.sleep(FLUSH_SECONDS)
        process.send_signal(signal.SIGINT)
        testbed.wait(process, STOP_SECONDS, log.name)
        lost = re.search(r"(\d+) packets? dropped by kernel", log.read_text())
        if lost is None or int(lost.group(1)):
            raise WorkloadError(f"the capture on {self.node} lost packets: {log.read_text().strip()}")
