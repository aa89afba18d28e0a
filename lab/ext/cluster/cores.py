"""Give each guest on a machine its own core, whichever worker runs the guest."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

_POLL_SECONDS = 0.05


@contextmanager
def own_core() -> Iterator[int]:
    """Wait for a core that no guest of another worker on this machine uses, and yield it.

    A name in Linux's abstract socket namespace represents a core. The name has a single holder, leaves no file behind,
    and is free again as soon as its holder ends for any reason.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        while (core := _claimed(claim)) is None:
            time.sleep(_POLL_SECONDS)
        yield core


def _claimed(claim: socket.socket) -> int | None:
    for core in sorted(os.sched_getaffinity(0)):
        try:
            claim.bind(f"\0replab/core/{core}")
        except OSError:
            continue
        return core
    return None
