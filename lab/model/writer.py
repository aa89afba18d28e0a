"""Play the process that writes: which system calls it makes, of which sizes, and when it asks first.

A writer is a generator over its socket that yields where it sleeps: None to sleep until the socket has room, or a time
in ns to sleep until then, or a little longer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from lab.model.path import Path
from lab.model.sender import Sender

__all__ = ["Sleeps", "writes"]

PIPE_DEF_BUFFERS, PAGE_SIZE = 16, 4096  # pages, and their bytes, that sendfile() hands over at once: splice_to_socket()

Sleeps = Iterator[int | None]


def writes(path: Path, socket: Sender, end: int, size: int) -> Sleeps:
    """Play the path's writer: it begins nothing after `end` (ns), and writes no more than `size` bytes."""
    return _asking(path, socket, size) if path.writes_per_poll else _sleeping(path, socket, end, size)


def _sleeping(path: Path, socket: Sender, end: int, size: int) -> Sleeps:
    """Write, call after call, asleep inside the call while the buffer is full."""
    if path.header_bytes:
        yield from socket.sendmsg(path.header_bytes)
    left = size
    while left and socket.clock_cache < end:
        if path.sendfile and path.size is None:
            yield socket.clock_cache + path.cpu_per_write.ns
        write_size = min(path.write_size or left, left)
        yield from _sendfile(socket, write_size) if path.sendfile else socket.sendmsg(write_size)
        left -= write_size


def _asking(path: Path, socket: Sender, size: int) -> Sleeps:
    """Write several times whenever select() or poll() reports room; the next writes take what did not fit."""
    assert path.writes_per_poll is not None
    left, rest = size, 0
    while True:
        for _ in range(path.writes_per_poll):
            rest = rest or min(path.write_size or left, left)
            taken = yield from _insist(socket, rest) if path.control else socket.sendmsg(rest, wait=False)
            left, rest = left - taken, rest - taken
            if not left:
                return
        if not socket.is_writeable():
            socket.nospace = True
            yield None


def _insist(socket: Sender, size: int) -> Generator[None, None, int]:
    """Write again until all is taken or a call fails: what was pushed may have let the buffer grow."""
    left = size
    while left:
        taken = yield from socket.sendmsg(left, wait=False)
        left -= taken
        if not taken:
            break
    return size - left


def _sendfile(socket: Sender, size: int) -> Generator[None, None, None]:
    """Send a pipe's worth at a time, with MSG_MORE for all but the last: splice_direct_to_actor()."""
    pipe = PIPE_DEF_BUFFERS * PAGE_SIZE
    for at in range(0, size, pipe):
        piece = min(pipe, size - at)
        yield from socket.sendmsg(piece, more=at + piece < size)
