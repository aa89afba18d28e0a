"""Runs of which one system call fails, in whichever of their processes makes it.

A filter sends the calls that can fail to us before the kernel performs them (seccomp's user notification), and we
answer with an error, or let them pass. So Python's C code, the supervisor, the guest's kernel and its programs are all
reached, with nothing to install: an `LD_PRELOAD` sees neither static programs nor calls by number, and `strace -e
inject` would have to trace a guest's kernel that traces its own processes.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import random
import re
import select
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.campaign.isolated import Broken
from tests.campaign.runs import Ran, Reference, ended, started

__all__ = ["CALLS", "Call", "Failing", "Faults", "Listener", "count", "disturbed", "fail_one"]

_SPACE = (errno.ENOSPC, errno.EIO, errno.EINTR)
_MAKE = (errno.ENOSPC, errno.EIO, errno.ENOMEM)
CALLS = {  # number on x86-64 -> (name, the errors that it can end with)
    0: ("read", (errno.EIO, errno.EINTR)),
    1: ("write", _SPACE),
    18: ("pwrite64", _SPACE),
    56: ("clone", (errno.ENOMEM, errno.EAGAIN)),
    58: ("vfork", (errno.ENOMEM, errno.EAGAIN)),
    59: ("execve", (errno.ENOMEM, errno.EIO)),
    73: ("flock", (errno.EINTR, errno.ENOLCK)),
    74: ("fsync", (errno.EIO, errno.ENOSPC)),
    77: ("ftruncate", _SPACE),
    82: ("rename", _MAKE),
    83: ("mkdir", _MAKE),
    86: ("link", _MAKE),
    87: ("unlink", (errno.EIO, errno.ENOMEM)),
    217: ("getdents64", (errno.EIO, errno.ENOMEM)),
    257: ("openat", (*_MAKE, errno.EINTR, errno.EMFILE)),
    263: ("unlinkat", (errno.EIO, errno.ENOMEM)),
    319: ("memfd_create", (errno.ENOMEM, errno.EMFILE)),
    435: ("clone3", (errno.ENOMEM, errno.EAGAIN)),
}
SECCOMP, SET_MODE_FILTER, NEW_LISTENER, NO_NEW_PRIVS = 317, 1, 8, 38
ALLOW, NOTIFY = 0x7FFF0000, 0x7FC00000
LOAD, IS, RETURN = 0x20, 0x15, 0x06  # instructions of the filter
X86_64, NUMBER_AT, ARCH_AT = 0xC000003E, 0, 4
RECEIVE, SEND = 0xC0502100, 0xC0182101  # ioctls
ASKED, ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
GO_ON = 1
BEGINS = re.compile(rb"/lab/cli/(__pycache__/)?quick\.")  # who opens this file, or its bytecode, has started


@dataclass(frozen=True)
class Call:
    """Describes a call that waits for our answer."""

    name: str
    pid: int
    arguments: tuple[int, ...]

    def is_of_file(self) -> bool:
        """Return whether its first argument is a descriptor of something that a disk may hold: no socket, no pipe."""
        try:
            return str(Path(f"/proc/{self.pid}/fd/{self.arguments[0]}").readlink()).startswith("/")
        except OSError:  # it has ended
            return False

    def text(self, place: int) -> bytes:
        """Return the text that an argument points to."""
        return _text(self.pid, self.arguments[place])


class Faults(Protocol):
    """Says which calls ask us, and what becomes of the one that is doomed."""

    @property
    def names(self) -> Mapping[int, str]:
        """The calls that ask us, by number on x86-64."""

    def counts(self, call: Call, /) -> bool:
        """Return whether this call may be the doomed one."""

    def answer(self, call: Call) -> tuple[str, int]:
        """Say what is done about the doomed call, and return the error that it ends with; 0: it went well."""


@dataclass
class Listener:
    """Answers the calls of a run: of those since it began, the one with the number `doomed` fails (None: none does)."""

    faults: Faults
    doomed: int | None
    begun: bool = False
    seen: int = 0
    failed: str = ""
    _over: threading.Event = field(default_factory=threading.Event)

    def serve(self, own: socket.socket) -> None:
        """Answer until the last process has ended. `own` brings the listening descriptor."""
        fds = socket.recv_fds(own, 1, 1)[1]
        if not fds:  # it did not start
            return
        poll = select.poll()
        poll.register(fds[0], select.POLLIN)
        try:
            while not self._over.is_set():
                for _, event in poll.poll(200):
                    if event & select.POLLIN:
                        self._answer(fds[0])
                    elif event & select.POLLHUP:
                        return
        finally:
            os.close(fds[0])

    def stop(self) -> None:
        """End `serve`."""
        self._over.set()

    def _answer(self, fd: int) -> None:
        asked = bytearray(ASKED.size)
        try:
            fcntl.ioctl(fd, RECEIVE, asked)
        except OSError:  # who asked is gone
            return
        ident, pid, _, number, _, _, *arguments = ASKED.unpack(asked)
        call = Call(self.faults.names[number], pid, tuple(arguments))
        done = self._doomed(call)
        error = self._failed(call) if done else 0
        try:
            fcntl.ioctl(fd, SEND, ANSWER.pack(ident, 0, -error, 0 if done else GO_ON))
        except OSError:
            return

    def _doomed(self, call: Call) -> bool:
        if not self.begun:
            self.begun = call.name == "openat" and bool(BEGINS.search(call.text(1)))
            return False
        if not self.faults.counts(call):
            return False
        self.seen += 1
        return self.seen - 1 == self.doomed

    def _failed(self, call: Call) -> int:
        who = Path(f"/proc/{call.pid}/comm").read_text().strip()
        said, error = self.faults.answer(call)
        self.failed = f"{said} by {who}: {errno.errorcode.get(error, 'as if done')}"
        return error


@dataclass(frozen=True)
class Failing:
    """Calls that fail, whatever they are about."""

    chance: random.Random

    @property
    def names(self) -> Mapping[int, str]:
        """The calls that can fail."""
        return {number: name for number, (name, _) in CALLS.items()}

    def counts(self, _: Call) -> bool:
        """Count every call."""
        return True

    def answer(self, call: Call) -> tuple[str, int]:
        """Let it fail in one of its ways."""
        errors = next(errors for name, errors in CALLS.values() if name == call.name)
        if call.name == "openat" and not call.arguments[2] & os.O_CREAT:
            errors = tuple(error for error in errors if error != errno.ENOSPC)  # only a new file takes room
        if call.name == "read" and not call.is_of_file():
            errors = (errno.EINTR,)  # there is no disk that could fail
        path = call.text(1 if call.name in ("openat", "unlinkat") else 0).decode(errors="replace")
        on = f" of {path}" if call.name in ("openat", "unlinkat", "rename", "mkdir", "link") else ""
        return f"{call.name}{on}", self.chance.choice(errors)


def count(of: Reference, faults: Callable[[Path], Faults] | None = None) -> int:
    """Return how many calls an undisturbed run makes that could fail. Raises Broken where no filter can be set."""
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        results = Path(scratch, "results")
        listener = Listener(faults(results) if faults else Failing(random.Random(0)), None)
        disturbed(listener, of, results)
        if not listener.seen:
            raise Broken("no system call of the run was seen")
    return listener.seen


def fail_one(number: int, seed: int, of: Reference, calls: int) -> str:
    """Let one of the run's `calls` fail; return which did. Raises Broken, unless the next run ends well."""
    chance = random.Random(f"{seed}/calls/{number}")
    listener = Listener(Failing(chance), chance.randrange(calls))
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        results = Path(scratch, "results")
        try:
            disturbed(listener, of, results)
            of.holds(results)
        except Broken as broken:
            raise Broken(f"{listener.failed or 'no call failed'}: {broken}") from None
    return listener.failed


def disturbed(listener: Listener, of: Reference, results: Path) -> Ran:
    """Run the claim with somebody who answers its calls."""
    here, there = socket.socketpair()
    serving, program = threading.Thread(target=listener.serve, args=(here,)), _program(listener.faults.names)
    serving.start()  # before the run: its first call asks already
    try:
        with there:
            run = started(of.folder, results, before=lambda: _filter(program, there))
        return ended(run)
    finally:
        listener.stop()
        serving.join()
        here.close()


def _program(names: Collection[int]) -> bytes:
    """Return the filter: of a 64-bit program, these calls ask us, and all others pass."""
    numbers = sorted(names)
    lines = [(LOAD, 0, 0, ARCH_AT), (IS, 0, len(numbers) + 1, X86_64), (LOAD, 0, 0, NUMBER_AT)]
    lines += [(IS, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, NOTIFY)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _filter(program: bytes, to: socket.socket) -> None:
    """Set the filter for this process and all below it, and hand on where its questions come."""
    libc = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    listening = libc.syscall(SECCOMP, SET_MODE_FILTER, NEW_LISTENER, described)
    if listening < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    socket.send_fds(to, [b"."], [listening])
    os.close(listening)


def _text(pid: int, address: int) -> bytes:
    """Return what stands at an address of a process, up to its first null byte."""
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            memory.seek(address)
            return memory.read(4096).split(b"\0")[0]
    except (OSError, ValueError, OverflowError):
        return b""
