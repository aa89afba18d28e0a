"""Change a network's links while a workload runs, as the network declares, and report late or wrong changes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.guest.fabric import timeline
from lab.guest.fabric.fabric import Fabric
from lab.guest.testbed import Child


@contextmanager
def playing(fabric: Fabric, target: Path) -> Iterator[None]:
    """Play the changes of the links from now on, within this context, in a separate process.

    The process writes `target` if the links can change. Raises WorkloadError if the process fails.
    """
    if not timeline.changes(fabric.network):
        yield
        return
    player = timeline.Player(fabric.spaces, time.monotonic_ns())
    child = Child.fork(fabric.namespace(fabric.network.nodes[0].name), lambda: player.play(target))
    try:
        yield
        child.stop("what changes the links")
    finally:
        child.end()


def missed(played: Path, tolerated_ns: int) -> list[str]:
    """Return a description of each change that was late, or whose result differs from the requested values."""
    if not played.exists():
        return []
    found = json.loads(played.read_text())
    late = [each for each in found["done"] if each["late_ns"] > tolerated_ns]
    where = (f"link {each['link']}, {each['direction']}: changed {each['late_ns']} ns late" for each in late)
    return [*where, *found["differences"]]
