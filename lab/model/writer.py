"""The process that writes: which system calls it makes, of which sizes, and when it asks first.

A writer is a generator over its socket. It yields None where it sleeps until the socket has room, and the time in ns
at which it goes on where something else comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

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
    left for the next turn.
    """
    assert path.turn is not None
    left, rest = size, 0
    while left:
        if not socket.writeable():
            socket.full = True
            yield None
        for _ in range(path.turn):
            rest = rest or min(path.block or left, left)
            taken = yield from socket.send(rest, wait=False)
            left, rest = left - taken, rest - taken
            yield socket.now
            if rest or not left:
                break


def _write(socket: Sender, size: int) -> Steps:
    yield from socket.send(size)
    yield socket.now


def _sendfile(socket: Sender, size: int) -> Steps:
    """splice_direct_to_actor(): a pipe's worth at a time, and MSG_MORE with all but the last."""
    for at in range(0, size, _PIPE):
        piece = min(_PIPE, size - at)
        yield from socket.send(piece, more=at + piece < size)
        yield socket.now
