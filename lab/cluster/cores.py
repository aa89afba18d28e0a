"""Give each guest of a machine a core of its own, whichever of its workers runs it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["own_core"]

_POLL_SECONDS = 0.05


@contextmanager
def own_core() -> Iterator[int]:
    """Yield a core that this process may use and no other guest's worker on this machine has; wait for one to be free.

    A name in Linux's abstract socket namespace stands for a core: it has one holder, leaves no file, and is free again
    as soon as its holder ends, however it does.
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
