"""The process that writes: which system calls it makes, of which sizes, and when it asks first.

A writer is a generator over its socket that yields where it sleeps: None until the socket has room, a time in ns until
then, or a little later.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from lab.model.path import Path
from lab.model.sender import Sender

__all__ = ["Sleeps", "writes"]

_PIPE = 16 * 4096  # what sendfile() hands over at once: PIPE_DEF_BUFFERS pages (fs/splice.c, splice_to_socket())

Sleeps = Iterator[int | None]


def writes(path: Path, socket: Sender, end: int, size: int) -> Sleeps:
    """All that the path's writer does: it begins nothing after `end` (ns), and writes no more than `size` bytes."""
    return _asking(path, socket, size) if path.turn else _sleeping(path, socket, end, size)


def _sleeping(path: Path, socket: Sender, end: int, size: int) -> Sleeps:
    """Block by block, asleep inside the call while the buffer is full."""
    if path.greeting:
        yield from socket.send(path.greeting)
    left = size
    while left and socket.now < end:
        if path.sendfile and path.size is None:
            yield socket.now + path.effort.ns
        block = min(path.block or left, left)
        yield from _sendfile(socket, block) if path.sendfile else socket.send(block)
        left -= block


def _asking(path: Path, socket: Sender, size: int) -> Sleeps:
    """Block by block, a turn of them each time that select() or poll() says that there is room. What does not fit is
    left for the next call.
    """
    assert path.turn is not None
    left, rest = size, 0
    while True:
        for _ in range(path.turn):
            rest = rest or min(path.block or left, left)
            taken = yield from _insist(socket, rest) if path.control else socket.send(rest, wait=False)
            left, rest = left - taken, rest - taken
            if not left:
                return
        if not socket.writeable():
            socket.full = True
            yield None


def _insist(socket: Sender, size: int) -> Generator[None, None, int]:
    """Again and again, until all of it is taken or a call fails: what was pushed may have let the buffer grow."""
    left = size
    while left:
        taken = yield from socket.send(left, wait=False)
        left -= taken
        if not taken:
            break
    return size - left


def _sendfile(socket: Sender, size: int) -> Generator[None, None, None]:
    """splice_direct_to_actor(): a pipe's worth at a time, and MSG_MORE with all but the last."""
    for at in range(0, size, _PIPE):
        piece = min(_PIPE, size - at)
        yield from socket.send(piece, more=at + piece < size)
