"""Have a network's links change as it says, while something runs on it; and tell which changes came late or wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.fabric import timeline
from lab.fabric.fabric import Fabric
from lab.testbed import Child


@contextmanager
def playing(fabric: Fabric, target: Path) -> Iterator[None]:
    """Play what happens to the links from now on, within this context, in a process of its own.

    Leaves `target` if anything can happen to them. Raises WorkloadError when the process fails.
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
    """Return which changes of the links were late, and what the kernel made of them that was not asked for."""
    if not played.exists():
        return []
    found = json.loads(played.read_text())
    late = [each for each in found["done"] if each["late_ns"] > tolerated_ns]
    where = (f"link {each['link']}, {each['direction']}: changed {each['late_ns']} ns late" for each in late)
    return [*where, *found["differences"]]
