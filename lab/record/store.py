"""Store records by address in `root/<first two digits>/<address>/`, each written atomically."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from lab.base import archive, foreign
from lab.base.archive import ArchiveError
from lab.base.foreign import Unfit
from lab.base.moving import entries, link, move
from lab.base.owner import living, private, sweep
from lab.errors import LabError, MachineError
from lab.guest.trial import Trial
from lab.record.record import (
    FORMAT,
    HOST_FILE,
    RECORD_FILE,
    RUN_OF,
    TRIAL_FILE,
    Contents,
    Record,
    RecordError,
    digest,
    written,
)

__all__ = ["Stage", "StageUnfit", "Store", "StoreInUse"]

_STAGING = ".staging"  # in the store's own file system, so that the final rename is atomic
_OURS = (TRIAL_FILE, "console.log")  # beside the outputs, before the trial has a record
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_HELD, _ALONE = "held", "alone"  # folders in _STAGING: a process needs the records unchanged, or changes some
_WAIT_SECONDS, _LOOK_SECONDS = 60.0, 0.1


class StoreInUse(MachineError):
    """Raised if a process tries to remove or pack records while another process uses the store, or vice versa."""


class StageUnfit(LabError):
    """Raised if a trial left files that no record can hold: links, files outside out/, or names that are not UTF-8."""


class Stage:
    """Holds a trial's private folder while it runs. Fill `out`, write `console.log` next to it, then `commit` once."""

    def __init__(self, trial: Trial, path: Path, final: Path, flush: Callable[[Path], None]) -> None:
        self.trial = trial
        self.path = path
        self.out = path / "out"
        self._final = final
        self._flush = flush
        self.out.mkdir(exist_ok=True)

    def commit(
        self, environment: Mapping[str, Any], invalid: Sequence[str] = (), host: Mapping[str, Any] | None = None
    ) -> Record:
        """Turn the folder into the trial's record. If the trial already has a record by now, that record stays.

        `environment` and `invalid` must depend only on the trial. Other facts (time, user, paths) belong in `host`.
        Raises StageUnfit if the files in the folder cannot be a record.
        """
        folders, files = self._left()
        try:
            with ThreadPoolExecutor(1) as disk:  # flushes files to disk while they are hashed
                written = disk.map(self._flush, files)
                outputs = {path.relative_to(self.out).as_posix(): digest(path) for path in files}
                list(written)  # raises the errors of flushing
        except PermissionError as error:
            raise StageUnfit(f"the trial left {foreign.printable(str(error.filename))}, which cannot be read") from None
        _write(self.path / TRIAL_FILE, self.trial)
        _write(self.path / HOST_FILE, dict(host or {}))
        _write(self.path / RECORD_FILE, Contents(FORMAT, dict(environment), list(invalid), outputs))
        try:
            Record(self.path).read_back()
        except RecordError as error:
            reason = str(error).removeprefix(f"{self.path} is damaged: ")
            raise StageUnfit(f"the trial left more than a record can hold: {reason}") from None
        own = [path for name in (*_OURS, HOST_FILE, RECORD_FILE) if (path := self.path / name).exists()]
        for path in (*own, *folders, self.path):
            self._flush(path)
        _put(self.path, self._final, self._flush)
        return Record(self._final)

    def _left(self) -> tuple[list[Path], list[Path]]:
        """Return the folders and files among the outputs.

        The trial's programs may have left arbitrary files there. Raises StageUnfit if a record cannot hold one.
        """
        folders: list[Path] = []
        files: list[Path] = []
        try:
            for path, kind in foreign.walk(self.path, foreign.FileBounds()):
                top = path.partition("/")[0]
                if kind == "other":
                    raise Unfit(f"{foreign.printable(path)}, which is neither a file nor a folder")
                if top == "out" and (kind == "folder" or "/" in path):
                    (folders if kind == "folder" else files).append(self.path / path)
                elif top == "out" or kind == "folder" or path not in _OURS:
                    raise Unfit(f"{foreign.printable(path)}, which does not belong beside {self.out.name}/")
        except Unfit as error:
            raise StageUnfit(f"the trial left {error}") from None
        except PermissionError:
            raise StageUnfit("the trial left an unreadable folder") from None
        return folders, sorted(files)


class Store:
    """Stores records below `root`.

    Opening a store removes only files from crashed processes on this machine; `swept` lists these files. A `durable`
    store flushes its files to disk. A store that is read once and then removed need not be durable.
    """

    def __init__(self, root: Path, durable: bool = True) -> None:
        self.root = root
        self._flush = _fsync if durable else _leave
        self.swept = sweep(self._staging)

    def get(self, address: str) -> Record | None:
        """Return the record at `address`, or None. A damaged record raises an error when it is read."""
        path = self._place(address)
        return Record(path) if path.is_dir() else None

    def __iter__(self) -> Iterator[Record]:
        """Yield every record, sorted by address. Raises MachineError for an unreadable folder."""
        for folder in entries(self.root):
            for path in entries(folder) if re.fullmatch("[0-9a-f]{2}", folder.name) else ():
                if re.fullmatch("[0-9a-f]{64}", path.name):
                    yield Record(path)

    def articles(self) -> set[str]:
        """Return the articles whose claims have records. A damaged record is skipped."""
        found = set[str]()
        for record in self:
            with suppress(RecordError):
                if record.claim.partition("/")[0] not in found:
                    found.add(record.trial.claim.partition("/")[0])
        return found

    def remove(self, address: str) -> None:
        """Remove a record, for example a damaged record, so that its trial runs again.

        If there is no record, do nothing.
        """
        path = self._place(address)
        if path.is_dir():
            with self._private(address) as doomed, suppress(FileNotFoundError):  # another process removes it, too
                move(path, doomed / "record")

    def adopt(self, record: Record) -> Record:
        """Add a record from another store: as hard links if the file system allows them, else as a copy.

        Raises MachineError if the disk is full.
        """
        return self._take(record, record.address, {})

    def share(self, record: Record, trial: Trial) -> Record:
        """Give `trial` the outputs of a record that differs only in names.

        The host.json of the new record names that record. Raises ValueError if the trials differ in more than names,
        and MachineError if the disk is full.
        """
        if record.trial.run_address != trial.run_address:
            raise ValueError(f"{trial.address} differs in more than names from {record.address}")
        renewed = {TRIAL_FILE: trial, HOST_FILE: {**record.host, RUN_OF: record.address}}
        return self._take(record, trial.address, renewed)

    def receive(self, address: str, packed: BinaryIO, origin: str) -> Record:
        """Add the record at `address` from an archive, which comes from `origin`. An existing record stays.

        Every byte is checked before any file is stored. Raises RecordError with the origin, and MachineError if the
        disk is full.
        """
        final = self._place(address)
        with self._room(), self._private(address) as path:
            fresh = path / address
            fresh.mkdir(exist_ok=True)
            try:
                Record(fresh).verify(archive.unpack(packed, fresh))
            except (ArchiveError, RecordError) as error:
                reason = str(error).removeprefix(str(fresh)).lstrip(": ")
                raise RecordError(f"{origin} is refused: {reason}") from None
            for each in (*fresh.rglob("*"), fresh):
                self._flush(each)
            _put(fresh, final, self._flush)
        return Record(final)

    def exchange(self, fresh: Path, places: Mapping[Path, Path]) -> None:
        """Put `fresh`, or a link to it, at each of the new `places`, and then remove the old files that are replaced.

        At any time, either the old or the new file exists. Raises MachineError if the disk is full.
        """
        with self._room(), self._private("exchange") as path:
            for number, new in enumerate(places.values()):
                _link(fresh, path / str(number))
                self._flush(path / str(number))
                move(path / str(number), new)
            for folder in {new.parent for new in places.values()}:
                self._flush(folder)
            for old in places:
                old.unlink(missing_ok=True)  # a file server may have lost its reply

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Create a private folder next to the records, which is removed afterwards or when the store is next opened.

        Raises MachineError if the disk is full.
        """
        with self._room(), self._private("scratch") as path:
            yield path

    @contextmanager
    def stage(self, trial: Trial) -> Iterator[Stage]:
        """Create a private folder for `trial`, which is removed afterwards unless it was committed.

        Raises MachineError if the disk is full, after removing the folder.
        """
        with self._room(), self._private(trial.address) as path:
            yield Stage(trial, path, self._place(trial.address), self._flush)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all records in their places within this context, in which commands that need to be `alone` are refused.

        The method waits at most a minute for a running command of this kind, and then raises StoreInUse. A read-only
        store needs no such protection. Each side creates its marker before it looks for the other side's marker, so
        that at least one side detects the other.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(self._private(_HELD))
            except OSError as error:
                if error.errno not in _READ_ONLY:
                    raise
            until = time.monotonic() + _WAIT_SECONDS
            while others := living(self._staging, _ALONE):
                if time.monotonic() > until:
                    raise StoreInUse(
                        f"{self.root}: another process removes or packs records in it ({others[0]}); run again later"
                    )
                time.sleep(_LOOK_SECONDS)
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have exclusive use of the store within this context, for removing or packing records. Raises StoreInUse."""
        with self._private(_ALONE) as own:
            if others := [path for path in living(self._staging) if path != own]:
                raise StoreInUse(f"{self.root} is in use ({others[0]}): nothing was changed; run again afterwards")
            yield

    @contextmanager
    def beside(self) -> Iterator[Store]:
        """Create a store for this process alone, in the same file system. The store is removed like a stage."""
        with self._room(), self._private("beside") as path:
            yield Store(path)

    @property
    def predictions(self) -> Path:
        """The folder with the predictions for the store's trials."""
        return self.root / "predictions"

    @property
    def _staging(self) -> Path:
        return self.root / _STAGING

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Convert the error of a full disk to a MachineError that names the fix."""
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise MachineError(f"the disk that holds {self.root} is full; make room and run again") from error

    def _place(self, address: str) -> Path:
        return self.root / address[:2] / address

    def _take(self, record: Record, address: str, renewed: Mapping[str, Any]) -> Record:
        """Add a record's files at `address`, except the files in `renewed`. An existing record stays."""
        final = self._place(address)
        if final.is_dir():
            return Record(final)
        with self._room(), self._private(address) as path:
            fresh = path / "record"
            fresh.mkdir(exist_ok=True)
            for source in sorted(record.folder.rglob("*")):  # a folder comes before its contents
                name = source.relative_to(record.folder)
                if str(name) not in renewed:
                    (fresh / name).mkdir(exist_ok=True) if source.is_dir() else _link(source, fresh / name)
            for changed, value in renewed.items():
                _write(fresh / changed, value)
                self._flush(fresh / changed)
            _put(fresh, final, self._flush)
        return Record(final)

    @contextmanager
    def _private(self, address: str) -> Iterator[Path]:
        try:
            self._staging.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:  # below a file, or in /proc
            raise MachineError(
                f"cannot make a store in {self.root} ({error.strerror}); name a folder that you can write to"
            ) from error
        with private(self._staging, address[:16]) as path:
            yield path


def _put(fresh: Path, final: Path, flush: Callable[[Path], None]) -> None:
    """Move a complete record to its place, unless there is already a record."""
    final.parent.mkdir(parents=True, exist_ok=True)
    try:
        move(fresh, final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    flush(final.parent)


def _write(path: Path, value: Any) -> None:
    path.write_bytes(written(value))


def _link(source: Path, target: Path) -> None:
    try:
        link(source, target)
    except OSError:  # a different file system, or one without links
        shutil.copy2(source, target)


def _fsync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _leave(path: Path) -> None:
    """Do nothing, because the store does not wait until a file is on disk."""
