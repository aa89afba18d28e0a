"""The kernel's own counters of TCP events, before and after the workload."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import msgspec

from lab import outputs
from lab.place import Place

SECONDS = 10.0


class Netstat(msgspec.Struct, frozen=True, tag="netstat", tag_field="kind", forbid_unknown_fields=True):
    """What `node` counts in /proc/net/netstat and /proc/net/snmp. Leaves netstat.NODE.before.txt and .after.txt."""

    tools: ClassVar[tuple[str, ...]] = ()

    node: str = "sender"

    @contextmanager
    def watch(self, place: Place) -> Iterator[None]:
        """Read the counters around this context. Raises WorkloadError."""
        self._read(place, "before")
        yield
        self._read(place, "after")

    def _read(self, place: Place, when: str) -> None:
        target = place.out / outputs.netstat(self.node, when)

        def read() -> None:
            target.write_text("".join(Path(f"/proc/net/{name}").read_text() for name in ("netstat", "snmp")))

        place.spawn(self.node, read).wait("the netstat probe", SECONDS)
