"""Runs on a store that a file server keeps, of whose oddities one happens: NFS as its clients see it.

No server is needed. The calls of a run that are about its store come to us (`calls`), and we do to one what such a
client sees: it is done and its answer is lost, so that the client asks again and hears that there is nothing to do; its
file has gone from the server; or a file that is removed stays under another name until nobody reads it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.campaign.calls import Call, Listener, count, disturbed
from tests.campaign.isolated import Broken
from tests.campaign.runs import Reference

__all__ = ["counted", "disturb"]

OPEN = {257: "openat"}  # who opens the lab's own code has begun
LOST = {  # number on x86-64 -> name
    82: "rename",
    83: "mkdir",
    84: "rmdir",
    86: "link",
    87: "unlink",
    258: "mkdirat",
    263: "unlinkat",
    264: "renameat",
    265: "linkat",
    316: "renameat2",
}
DONE: Mapping[str, tuple[Callable[..., None], int]] = {  # what does it, and what is heard when it is asked for again
    "rename": (os.rename, errno.ENOENT),
    "mkdir": (os.mkdir, errno.EEXIST),
    "rmdir": (os.rmdir, errno.ENOENT),
    "link": (os.link, errno.EEXIST),
    "unlink": (os.unlink, errno.ENOENT),
}
REMOVED = {84: "rmdir", 87: "unlink", 263: "unlinkat"}
STALE = {**OPEN, 4: "stat", 6: "lstat", 262: "newfstatat", 332: "statx"}
AT_FDCWD, AT_REMOVEDIR = -100, 0x200
WAYS = ("lost", "lost", "stale", "silly")


@dataclass
class Server:
    """Keeps the folder `store`. `way` is what it does to the doomed call."""

    store: Path
    way: str
    silly: list[Path] = field(default_factory=list)  # files that stay a little

    @property
    def names(self) -> Mapping[int, str]:
        """The calls that come to the server."""
        return {"lost": {**OPEN, **LOST}, "stale": STALE, "silly": {**OPEN, **REMOVED}}[self.way]

    def counts(self, call: Call) -> bool:
        """Count what this way can happen to."""
        if call.name == "openat" and self.way != "stale":
            return False
        if self.way == "silly" and _removes_a_folder(call):
            return False
        return all(path.is_relative_to(self.store) for path in _paths(call)) and _paths(call)[0] != self.store

    def answer(self, call: Call) -> tuple[str, int]:
        """Do what the server does, and say what the client hears."""
        paths = _paths(call)
        said = f"{self.way}: {call.name} of {' to '.join(str(path.relative_to(self.store)) for path in paths)}"
        if self.way == "stale":
            return said, errno.ESTALE
        try:
            if self.way == "silly":
                self._put_aside(paths[0])
                return said, 0
            do, heard = DONE["rmdir" if _removes_a_folder(call) else call.name.removesuffix("2").removesuffix("at")]
            do(*paths)
        except OSError as error:
            return said, error.errno or errno.EIO
        return said, heard

    def closed(self) -> None:
        """Remove what stayed: who read it has ended."""
        for path in self.silly:
            for found in [path, *self.store.rglob(path.name)]:  # its folder may have moved
                found.unlink(missing_ok=True)

    def _put_aside(self, file: Path) -> None:
        aside = file.with_name(f".nfs{len(self.silly):016x}")
        file.rename(aside)
        self.silly.append(aside)


def counted(of: Reference) -> dict[str, int]:
    """Return how many calls of an undisturbed run each way can happen to."""
    return {way: count(of, partial(Server, way=way)) for way in sorted(set(WAYS))}


def disturb(number: int, seed: int, of: Reference, calls: Mapping[str, int]) -> str:
    """Let one of these things happen to a run; return which. Raises Broken, unless the next run ends well."""
    chance = random.Random(f"{seed}/nfs/{number}")
    way = WAYS[number % len(WAYS)]
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        server = Server(Path(scratch, "results").resolve(), way)
        listener = Listener(server, chance.randrange(calls[way]))
        try:
            ran = disturbed(listener, of, server.store)
            server.closed()
            if way != "stale" and ran.code != of.code:
                raise Broken(f"it ends with {ran.code} instead of {of.code}: {ran.said}")
            of.holds(server.store)
        except Broken as broken:
            raise Broken(f"{listener.failed or 'nothing happened'}: {broken}") from None
    return way if listener.failed else "nothing"


def _removes_a_folder(call: Call) -> bool:
    return call.name == "rmdir" or (call.name == "unlinkat" and bool(call.arguments[2] & AT_REMOVEDIR))


def _paths(call: Call) -> tuple[Path, ...]:
    """Return the paths that a call is about."""
    at = call.name in ("openat", "newfstatat", "statx") or call.name.removesuffix("2").endswith("at")
    at = at and call.name not in ("stat", "lstat")
    two = call.name.startswith(("rename", "link"))
    if not at:
        return tuple(_path(call, AT_FDCWD, place) for place in range(1 + two))
    return tuple(_path(call, call.arguments[place], place + 1) for place in (0, 2)[: 1 + two])


def _path(call: Call, folder: int, place: int) -> Path:
    """Return the path in an argument, from the root; where none can be found, the root."""
    text = os.fsdecode(call.text(place))
    number = ctypes.c_int(folder & 0xFFFFFFFF).value
    base = f"/proc/{call.pid}/cwd" if number == AT_FDCWD else f"/proc/{call.pid}/fd/{number}"
    try:
        return Path(os.path.normpath(Path(text if text.startswith("/") else f"{Path(base).readlink()}/{text}")))
    except OSError:
        return Path("/")
