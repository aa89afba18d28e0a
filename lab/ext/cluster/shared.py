"""Read records from a shared store: `ab/abcd....tar.zst`, plain files in a folder or behind a web server.

A record never changes, and its name follows from the trial's inputs, so the only request is to read a file.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import urllib.error
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, Protocol

from lab.base import archive
from lab.base.moving import move
from lab.errors import InputError, MachineError
from lab.ext.cluster.server import Patience, fetch
from lab.record.record import Record
from lab.record.store import Store

PREDICTIONS = f"predictions{archive.SUFFIX}"  # the predictions for the store's trials, with their dates
_ABSENT = (404, 410)


class SharedStore(Protocol):
    """Offers archives for reading."""

    def where(self, name: str) -> str:
        """Return the path or the URL of the file `name`, for display."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO | None]:
        """Yield the file `name` as a seekable file, or None if there is no such file. Raises MachineError."""


def named(address: str) -> str:
    """Return the name of a record's archive."""
    return f"{address[:2]}/{address}{archive.SUFFIX}"


def shared_store(where: str) -> SharedFolder | SharedServer:
    """Return the store at a URL or in a folder. Raises InputError if there is no such folder."""
    scheme, separator, _ = where.partition("://")
    if separator:
        if scheme not in ("http", "https"):
            raise InputError(f"--store {where} is neither a folder nor a URL; use a folder, http:// or https://")
        return SharedServer(where.rstrip("/"))
    if not Path(where).is_dir():
        raise InputError(f"--store {where}: no such folder; make it with `lab cluster push {where}`")
    return SharedFolder(Path(where))


@dataclass(frozen=True)
class SharedFolder:
    """Reads archives from a folder."""

    root: Path

    def where(self, name: str) -> str:
        """Return the file's path."""
        return str(self.root / name)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO | None]:
        """Yield the file `name`, or None. Raises MachineError if the file cannot be read."""
        try:
            file = _opened(self.root / name)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise MachineError(f"{self.where(name)} cannot be read: {error.strerror}") from error
        with file:
            yield file

    def add(self, record: Record) -> bool:
        """Write a record's archive atomically, unless the archive exists. Return whether it was written.

        Every byte of the record is checked first. Raises RecordError, and MachineError if the disk is full.
        """
        name = named(record.address)
        if (self.root / name).exists():
            return False
        record.verify()
        with record.unpacked() as folder:
            self.put(name, folder)
        return True

    def put(self, name: str, folder: Path) -> None:
        """Write a folder's archive as the file `name`. Raises MachineError if the disk is full."""
        with Store(self.root).scratch() as scratch:
            fresh = scratch / "archive"
            with fresh.open("w+b") as file:
                archive.pack(folder, file)
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            move(fresh, self.root / name)


@dataclass(frozen=True)
class SharedServer:
    """Reads archives from a web server."""

    url: str
    patience: Patience = field(default_factory=Patience)

    def where(self, name: str) -> str:
        """Return the file's URL."""
        return f"{self.url}/{name}"

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO | None]:
        """Yield the completely fetched file `name`, or None. Raises MachineError if the server cannot be reached."""
        with tempfile.TemporaryFile() as file:
            found = self._fetch(name, file)
            file.seek(0)
            yield file if found else None

    def _fetch(self, name: str, target: BinaryIO) -> bool:
        try:
            fetch(self.where(name), target, self.patience)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _ABSENT:
                return False
            raise MachineError(f"{self.where(name)} cannot be read: {error.code} {error.reason}") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise MachineError(f"{self.where(name)} cannot be read: {reason}") from None
        return True


def _opened(path: Path) -> BinaryIO:
    """Open a file for reading. Raises OSError, even for a pipe, because a pipe might never have data."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a file", str(path))
