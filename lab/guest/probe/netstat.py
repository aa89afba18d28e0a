"""Read the kernel's own counters of TCP events, before and after the workload."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.guest import outputs
from lab.guest.task import Task
from lab.guest.testbed import Testbed

SECONDS = 10.0


class Netstat(Task, frozen=True):
    """Records the counters of `node` in /proc/net/netstat and snmp. Writes netstat.NODE.before.txt and .after.txt."""

    node: str = "sender"

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Read the counters before and after this context. Raises WorkloadError if the counters cannot be read."""
        self._read(testbed, "before")
        yield
        self._read(testbed, "after")

    def _read(self, testbed: Testbed, when: str) -> None:
        target = testbed.out / outputs.netstat(self.node, when)

        def read() -> None:
            target.write_text("".join(Path(f"/proc/net/{name}").read_text() for name in ("netstat", "snmp")))

        testbed.spawn(self.node, read).wait("the netstat probe", SECONDS)
