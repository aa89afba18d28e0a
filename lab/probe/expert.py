"""Ask Wireshark's opinion of a connection: tshark's Expert Info on what passed an interface."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from lab import outputs
from lab.probe.capture import Capture
from lab.spec.task import Task
from lab.testbed import Testbed

SECONDS = 600.0
PIECE = 1 << 20  # bytes of a capture: 10,000 packets that are cut short, at most


class ExpertInfo(Task, frozen=True):
    """Captures `interface` on `node`, and runs `tshark -z expert` on it. Leaves expert.NODE.INTERFACE.txt too.

    tshark remembers every packet, so keep the transfer short: 10 s at 1 Gbit/s fit into a guest's memory, longer ones
    were not tried.
    """

    tools: ClassVar[tuple[str, ...]] = ("tcpdump", "tshark")

    node: str = "sender"
    interface: str = "eth0"

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Capture within this context, and ask tshark after it. Raises WorkloadError when either fails."""
        capture = Capture(node=self.node, interface=self.interface)
        with capture.watch(testbed):
            yield
        said = outputs.expert(self.node, self.interface)
        log = Path(said).with_suffix(".log").name
        tshark = testbed.start(self.node, ["tshark", "-q", "-z", "expert", "-r", "-"], said, log, subprocess.PIPE)
        _feed(tshark, testbed.out / capture.file)
        testbed.wait(tshark, SECONDS, log)


def _feed(tool: subprocess.Popen[bytes], capture: Path) -> None:
    """Let a tool read a capture with a moment between two pieces.

    tshark looks at the clock for each packet, and virtual time takes a million of calls at one instant for a spin.
    """
    assert tool.stdin is not None
    with suppress(BrokenPipeError), tool.stdin, capture.open("rb") as file:
        while piece := file.read(PIECE):
            tool.stdin.write(piece)
            time.sleep(0.001)
