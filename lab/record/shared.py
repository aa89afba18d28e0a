"""Read records from a store that many share: `ab/abcd....tar.zst`, plain files in a folder or behind a web server.

A record never changes and its name follows from the trial's inputs, so this is the whole protocol: ask for the file.
"""

from __future__ import annotations

import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, Protocol

from lab import archive
from lab.errors import InputError, MachineError
from lab.moving import move
from lab.record.record import Record
from lab.record.store import Store

__all__ = ["PREDICTIONS", "SharedFolder", "SharedStore", "named", "shared_store"]

PREDICTIONS = f"predictions{archive.SUFFIX}"  # what was predicted for the store's trials, and when
_ABSENT = (404, 410)
_SECONDS = 60.0  # without a byte, after which a server counts as gone


class SharedStore(Protocol):
    """Somewhere that archives are read from."""

    def where(self, name: str) -> str:
        """Return what a person calls the file `name`: its path or its URL."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO | None]:
        """Yield the file `name`, which can seek, or None when there is none. Raises MachineError."""


def named(address: str) -> str:
    """Return the name of a record's archive."""
    return f"{address[:2]}/{address}{archive.SUFFIX}"


def shared_store(where: str) -> SharedFolder | SharedServer:
    """Return the store at a URL or in a folder. Raises InputError when there is no such folder."""
    scheme, separator, _ = where.partition("://")
    if separator:
        if scheme not in ("http", "https"):
            raise InputError(f"--store {where}: it is a folder, or a URL that begins with http:// or https://")
        return SharedServer(where.rstrip("/"))
    if not Path(where).is_dir():
        raise InputError(f"--store {where}: there is no such folder")
    return SharedFolder(Path(where))


@dataclass(frozen=True)
class SharedFolder:
    """Archives in a folder."""

    root: Path

    def where(self, name: str) -> str:
        """Return the file's path."""
        return str(self.root / name)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO | None]:
        """Yield the file `name`, or None. Raises MachineError when it cannot be read."""
        try:
            file = (self.root / name).open("rb")
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise MachineError(f"{self.where(name)} cannot be read: {error.strerror}") from error
        with file:
            yield file

    def add(self, record: Record) -> bool:
        """Write a record's archive, whole or not at all, unless it is there; return whether it was not.

        Every byte of the record is checked first. Raises RecordError, and MachineError when the disk is full.
        """
        name = named(record.address)
        if (self.root / name).exists():
            return False
        record.verify()
        with record.unpacked() as folder:
            self.put(name, folder)
        return True

    def put(self, name: str, folder: Path) -> None:
        """Write a folder's archive as the file `name`. Raises MachineError when the disk is full."""
        with Store(self.root).scratch() as scratch:
            fresh = scratch / "archive"
            with fresh.open("w+b") as file:
                archive.pack(folder, file)
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            move(fresh, self.root / name)


@dataclass(frozen=True)
class SharedServer:
    """Archives behind a web server."""

    url: str

    def where(self, name: str) -> str:
        """Return the file's URL."""
        return f"{self.url}/{name}"

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO | None]:
        """Yield the file `name`, fetched whole, or None. Raises MachineError when the server cannot be asked."""
        with tempfile.TemporaryFile() as file:
            found = self._fetch(name, file)
            file.seek(0)
            yield file if found else None

    def _fetch(self, name: str, target: BinaryIO) -> bool:
        try:
            with urllib.request.urlopen(self.where(name), timeout=_SECONDS) as answer:
                shutil.copyfileobj(answer, target)
        except urllib.error.HTTPError as error:
            if error.code in _ABSENT:
                return False
            raise MachineError(f"{self.where(name)} cannot be read: {error.code} {error.reason}") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise MachineError(f"{self.where(name)} cannot be read: {reason}") from None
        return True
