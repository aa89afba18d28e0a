"""The process that writes: which system calls it makes, of which sizes, and when it asks first.

A writer is a generator over its socket. It yields None where it sleeps until the socket has room, and the time in ns
at which it goes on where something else comes first.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from lab.model.clock import FAILED, GRAIN
from lab.model.path import Path
from lab.model.sender import Sender

__all__ = ["Sleep", "Steps", "writes"]

_PIPE = 16 * 4096  # what sendfile() hands over at once: PIPE_DEF_BUFFERS pages (fs/splice.c, splice_to_socket())


class Sleep(NamedTuple):
    """Until that time in ns, or a little later."""

    until: int


Steps = Iterator[int | Sleep | None]


def writes(path: Path, socket: Sender, end: int, size: int) -> Steps:
    """All that the path's writer does: it begins nothing after `end` (ns), and writes no more than `size` bytes."""
    return _asking(path, socket, size) if path.turn else _sleeping(path, socket, end, size)


def _sleeping(path: Path, socket: Sender, end: int, size: int) -> Steps:
    """Block by block, asleep inside the call while the buffer is full."""
    if path.greeting:
        yield from _write(socket, path.greeting)
    left = size
    while left and socket.now < end:
        if path.sendfile and path.size is None:
            yield Sleep(socket.now + path.effort.ns)
        block = min(path.block or left, left)
        yield from _sendfile(socket, block) if path.sendfile else _write(socket, block)
        left -= block


def _asking(path: Path, socket: Sender, size: int) -> Steps:
    """Block by block, a turn of them each time that select() or poll() says that there is room. What does not fit is
    left for the next call.
    """
    assert path.turn is not None
    looks = path.habits.writer if path.habits else None
    left, rest = size, 0
    while True:
        for _ in range(path.turn):
            rest = rest or min(path.block or left, left)
            taken = yield from _insist(socket, rest) if looks else _once(socket, rest)
            left, rest = left - taken, rest - taken
            if not left:
                return
        yield from _look(socket, looks.asleep if looks else 0)
        if not socket.writeable():
            socket.full = True
            yield None
        yield from _look(socket, looks.awake if looks else 0)


def _once(socket: Sender, size: int) -> Generator[int | None, None, int]:
    taken = yield from socket.send(size, wait=False)
    yield socket.now
    return taken


def _insist(socket: Sender, size: int) -> Generator[int | None, None, int]:
    """Again and again, until all of it is taken or a call fails."""
    left = size
    while left:
        taken = yield from _once(socket, left)
        left -= taken
        if not taken:
            socket.now += FAILED
            yield socket.now
            break
    return size - left


def _look(socket: Sender, times: int) -> Steps:
    """At the clock."""
    for _ in range(times):
        socket.now += GRAIN
        yield socket.now


def _write(socket: Sender, size: int) -> Steps:
    yield from socket.send(size)
    yield socket.now


def _sendfile(socket: Sender, size: int) -> Steps:
    """splice_direct_to_actor(): a pipe's worth at a time, and MSG_MORE with all but the last."""
    for at in range(0, size, _PIPE):
        piece = min(_PIPE, size - at)
        yield from socket.send(piece, more=at + piece < size)
        yield socket.now
