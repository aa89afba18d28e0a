"""Simulate the process that writes: its system calls, their sizes, and when the process polls first.

A writer is a generator that yields when it sleeps. The writer yields None to sleep until its socket has room, or a time
in ns to sleep until that time or slightly longer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from lab.guest.task import ALL, Writer
from lab.model.sender import Sender

PIPE_DEF_BUFFERS, PAGE_SIZE = 16, 4096  # the pages that sendfile() passes at once, and their bytes: splice_to_socket()

Sleeps = Iterator[int | None]


def writes(writer: Writer, socket: Sender, end: int) -> Sleeps:
    """Return the simulated writer, which begins no write after `end` (ns)."""
    return _asking(writer, socket) if writer.writes_per_poll else _sleeping(writer, socket, end)


def _sleeping(writer: Writer, socket: Sender, end: int) -> Sleeps:
    """Write, call after call. A call sleeps while the buffer is full."""
    if writer.header_bytes:
        yield from socket.sendmsg(writer.header_bytes)
    left = ALL if writer.size is None else writer.size
    while left and socket.clock_cache < end:
        if writer.sendfile and writer.size is None:
            yield socket.clock_cache + writer.cpu_per_write.ns
        write_size = min(writer.write_size or left, left)
        yield from _sendfile(socket, write_size) if writer.sendfile else socket.sendmsg(write_size)
        left -= write_size


def _asking(writer: Writer, socket: Sender) -> Sleeps:
    """Write several times whenever select() or poll() reports room. Data that did not fit is sent with the next
    writes.
    """
    assert writer.writes_per_poll is not None
    left, rest = ALL if writer.size is None else writer.size, 0
    while True:
        for _ in range(writer.writes_per_poll):
            rest = rest or min(writer.write_size or left, left)
            taken = yield from _insist(socket, rest) if writer.control else socket.sendmsg(rest, wait=False)
            left, rest = left - taken, rest - taken
            if not left:
                return
        if not socket.is_writeable():
            socket.nospace = True
            yield None


def _insist(socket: Sender, size: int) -> Generator[None, None, int]:
    """Write again until the socket has accepted all data or a call fails: a push may have let the buffer grow."""
    left = size
    while left:
        taken = yield from socket.sendmsg(left, wait=False)
        left -= taken
        if not taken:
            break
    return size - left


def _sendfile(socket: Sender, size: int) -> Generator[None, None, None]:
    """Send a full pipe at a time, with MSG_MORE for all but the last pipe: splice_direct_to_actor().

    Before 6.5, the kernel sent the pipe page by page, and pushed the last page: pipe_to_sendpage(), do_tcp_sendpages().
    """
    pipe = PIPE_DEF_BUFFERS * PAGE_SIZE
    for at in range(0, size, pipe):
        end = min(at + pipe, size)
        step = PAGE_SIZE if socket.sends_pages else pipe
        for start in range(at, end, step):
            stop = min(start + step, end)
            yield from socket.sendmsg(stop - start, more=end < size, push=stop == end)
