"""Store records by address in `root/<first two digits>/<address>/`, each written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from lab import archive
from lab.archive import ArchiveError
from lab.errors import MachineError
from lab.moving import link, move
from lab.owner import living, private, sweep
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
from lab.record.trial import Trial

__all__ = ["Stage", "Store", "StoreInUse"]

_STAGING = ".staging"  # in the store's own file system, so that the final rename is atomic
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_HELD, _ALONE = "held", "alone"  # folders in _STAGING: somebody needs the records as they are, somebody changes some
_WAIT_SECONDS, _LOOK_SECONDS = 60.0, 0.1


class StoreInUse(MachineError):
    """Raised when records are to be removed or packed while somebody uses the store, or the other way round."""


class Stage:
    """Holds a trial's private folder while it runs: fill `out`, write `console.log` next to it, then `commit` once."""

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
        """Turn the folder into the trial's record. A record that the same trial got meanwhile stays.

        `environment` and `invalid` must follow from the trial only; what does not (time, user, paths) goes in `host`.
        """
        files = sorted(path for path in self.out.rglob("*") if path.is_file())
        with ThreadPoolExecutor(1) as disk:  # flushes the files while they are hashed
            written = disk.map(self._flush, files)
            outputs = {path.relative_to(self.out).as_posix(): digest(path) for path in files}
            list(written)  # raises what flushing them raised
        _write(self.path / TRIAL_FILE, self.trial)
        _write(self.path / HOST_FILE, dict(host or {}))
        _write(self.path / RECORD_FILE, Contents(FORMAT, dict(environment), list(invalid), outputs))
        for path in {*self.path.rglob("*"), self.path}.difference(files):
            self._flush(path)
        _put(self.path, self._final, self._flush)
        return Record(self._final)


class Store:
    """Keeps records under `root`.

    Opening it removes what crashed processes of this machine left (`swept` names it), and nothing else. What it keeps
    has reached the disk, unless the store is not `durable`: one that is read once and goes.
    """

    def __init__(self, root: Path, durable: bool = True) -> None:
        self.root = root
        self._flush = _fsync if durable else _leave
        self.swept = sweep(self._staging)

    def get(self, address: str) -> Record | None:
        """Return the record at `address`, or None. It may be damaged: reading it then says so."""
        path = self._place(address)
        return Record(path) if path.is_dir() else None

    def __iter__(self) -> Iterator[Record]:
        """Yield every record, sorted by address."""
        for path in sorted(self.root.glob("[0-9a-f][0-9a-f]/*")):
            if re.fullmatch("[0-9a-f]{64}", path.name):
                yield Record(path)

    def articles(self) -> set[str]:
        """Return the articles whose claims it has records of. A record that is damaged tells nothing."""
        found = set()
        for record in self:
            with suppress(RecordError):
                found.add(record.trial.claim.partition("/")[0])
        return found

    def remove(self, address: str) -> None:
        """Remove a record (a damaged one, say) so that its trial runs again. Without one, nothing happens."""
        path = self._place(address)
        if path.is_dir():
            with self._private(address) as doomed, suppress(FileNotFoundError):  # another removes it, too
                move(path, doomed / "record")

    def adopt(self, record: Record) -> Record:
        """Add another store's record to this one: linked where the file system allows, else copied.

        Raises MachineError when the disk is full.
        """
        return self._take(record, record.address, {})

    def share(self, record: Record, trial: Trial) -> Record:
        """Give `trial` the outputs of a record that differs in names only; its host.json says whose they are.

        Raises ValueError when it differs in more, MachineError when the disk is full.
        """
        if record.trial.run_address != trial.run_address:
            raise ValueError(f"{trial.address} is no other name of {record.address}")
        renewed = {TRIAL_FILE: trial, HOST_FILE: {**record.host, RUN_OF: record.address}}
        return self._take(record, trial.address, renewed)

    def receive(self, address: str, packed: BinaryIO, origin: str) -> Record:
        """Add the record at `address` from an archive, which comes from `origin`; a record that is here stays.

        Every byte is checked before anything is kept. Raises RecordError, which names the origin, and MachineError when
        the disk is full.
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
        """Put `fresh`, or a link to it, at each of the new `places`, and then remove the old one that each replaces.

        One of both is there at every moment. Raises MachineError when the disk is full.
        """
        with self._room(), self._private("exchange") as path:
            for number, new in enumerate(places.values()):
                _link(fresh, path / str(number))
                self._flush(path / str(number))
                move(path / str(number), new)
            for folder in {new.parent for new in places.values()}:
                self._flush(folder)
            for old in places:
                old.unlink(missing_ok=True)  # a file server may have lost its answer

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Make a private folder next to the records; it is gone afterwards, or when the store is next opened.

        Raises MachineError when the disk is full.
        """
        with self._room(), self._private("scratch") as path:
            yield path

    @contextmanager
    def stage(self, trial: Trial) -> Iterator[Stage]:
        """Make a private folder for `trial`; it is gone afterwards unless committed.

        Raises MachineError when the disk is full, and then leaves nothing behind.
        """
        with self._room(), self._private(trial.address) as path:
            yield Stage(trial, path, self._place(trial.address), self._flush)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all records where they are: who wants to be `alone` is refused meanwhile.

        Waits for who is alone now, a minute at most; then it raises StoreInUse. In a store that cannot be written
        nobody does anything of that. Both sides leave their mark before they look for the other's, so that one sees it.
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
                        f"{self.root}: somebody removes or packs records in it ({others[0]}); run again later"
                    )
                time.sleep(_LOOK_SECONDS)
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one who uses the store, as who removes or packs records must be. Raises StoreInUse."""
        with self._private(_ALONE) as own:
            if others := [path for path in living(self._staging) if path != own]:
                raise StoreInUse(f"{self.root} is in use ({others[0]}): nothing was changed; run again when that ended")
            yield

    @contextmanager
    def beside(self) -> Iterator[Store]:
        """Make a store for this process alone, in this one's file system; it goes as a stage does."""
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
        """Turn a full disk into a MachineError that says what to do."""
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise MachineError(f"the disk that holds {self.root} is full: make room and run again") from error

    def _place(self, address: str) -> Path:
        return self.root / address[:2] / address

    def _take(self, record: Record, address: str, renewed: Mapping[str, Any]) -> Record:
        """Add a record's files at `address`, but for those that are `renewed`; a record that is here stays."""
        final = self._place(address)
        if final.is_dir():
            return Record(final)
        with self._room(), self._private(address) as path:
            fresh = path / "record"
            fresh.mkdir(exist_ok=True)
            for source in sorted(record.folder.rglob("*")):  # a folder comes before what is in it
                name = source.relative_to(record.folder)
                if str(name) not in renewed:
                    (fresh / name).mkdir(exist_ok=True) if source.is_dir() else _link(source, fresh / name)
            for changed, value in renewed.items():
                _write(fresh / changed, value)
                self._flush(fresh / changed)
            _put(fresh, final, self._flush)
        return Record(final)

    def _private(self, address: str) -> AbstractContextManager[Path]:
        return private(self._staging, address[:16])


def _put(fresh: Path, final: Path, flush: Callable[[Path], None]) -> None:
    """Move a complete record to its place, unless there is one already."""
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
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


def _fsync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _leave(path: Path) -> None:
    """Let the system write the file when it likes, or never."""
