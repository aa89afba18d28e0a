"""Ask Wireshark's opinion of a connection: tshark's Expert Info on what passed an interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from lab import outputs
from lab.probe.capture import Capture
from lab.spec.task import Task
from lab.testbed import Testbed

SECONDS = 600.0


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
        argv = ["tshark", "-q", "-z", "expert", "-r", str(testbed.out / capture.file)]
        testbed.wait(testbed.start(self.node, argv, said, log), SECONDS, log)
