"""The process that reads: when it looks, and what it does before it sleeps again.

A reader is a generator over its socket. It yields None where it sleeps until the socket wakes it, and the time in ns at
which it goes on where something else comes first; each time it is sent the time that it is then.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from lab.model.clock import FAILED, GRAIN
from lab.model.habits import Looks
from lab.model.receiver import Ack, Receiver

__all__ = ["reads"]


def reads(
    looks: Looks | None, socket: Receiver, answer: Callable[[int, Iterable[Ack]], None]
) -> Generator[int | None, int, None]:
    """Takes all there is, again and again. What a call sets off goes to `answer(now, acks)`."""
    now = 0
    while True:
        if not socket.awake:
            now = yield None
        for _ in range(looks.awake if looks else 0):
            now = yield now + GRAIN
        acks = socket.consume(now)
        answer(socket.now, acks)
        now = yield socket.now
        if looks:
            now = yield now + FAILED
            for _ in range(looks.asleep):
                now = yield now + GRAIN
