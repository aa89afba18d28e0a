"""Analyse a connection with Wireshark: tshark's Expert Info about the packets that passed an interface."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from lab.guest import outputs
from lab.guest.probe.capture import Capture
from lab.guest.task import Task
from lab.guest.testbed import Testbed

SECONDS = 600.0
PIECE = 1 << 20  # bytes of a capture: 10,000 truncated packets at most


class ExpertInfo(Task, frozen=True):
    """Captures `interface` on `node`, and runs `tshark -z expert` on the capture.

    Also writes expert.NODE.INTERFACE.txt. tshark stores every packet in memory, so keep the transfer short. 10 s at 1
    Gbit/s fit into a guest's memory; longer transfers are untested.
    """

    tools: ClassVar[tuple[str, ...]] = ("tcpdump", "tshark")

    node: str = "sender"
    interface: str = "eth0"

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Capture the packets within this context, and then run tshark. Raises WorkloadError if either tool fails."""
        capture = Capture(node=self.node, interface=self.interface)
        with capture.watch(testbed):
            yield
        said = outputs.expert(self.node, self.interface)
        log = Path(said).with_suffix(".log").name
        tshark = testbed.start(self.node, ["tshark", "-q", "-z", "expert", "-r", "-"], said, log, subprocess.PIPE)
        _feed(tshark, testbed.out / capture.file)
        testbed.wait(tshark, SECONDS, log)


def _feed(tool: subprocess.Popen[bytes], capture: Path) -> None:
    """Pass a capture to a tool, piece by piece with pauses.

    tshark reads the clock for each packet, and virtual time treats a million calls at one instant as a busy loop.
    """
    assert tool.stdin is not None
    with suppress(BrokenPipeError), tool.stdin, capture.open("rb") as file:
        while piece := file.read(PIECE):
            tool.stdin.write(piece)
            time.sleep(0.001)
