"""Share records between stores: add records from other stores, write archives, and read archives before a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.app.options import existing
from lab.base import archive
from lab.base.archive import ArchiveError
from lab.errors import InputError
from lab.ext.cluster.shared import PREDICTIONS, SharedFolder, SharedStore, named, shared_store
from lab.guest.trial import Trial
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.runner.schedule import travels
from lab.verdict import predictions

_AT_ONCE = 8  # parallel requests to a server


@dataclass(frozen=True)
class Added:
    """Counts new and existing records of the store, and lists refused records with reasons."""

    store: Path
    added: int
    present: int
    refused: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return 1 if a record was refused, else 0."""
        return int(bool(self.refused))

    def plain(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON."""
        return {"store": str(self.store), "added": self.added, "present": self.present, "refused": list(self.refused)}


def merge(folders: Sequence[Path], results: Path) -> Added:
    """Add the records and predictions of other stores to the store at `results`, and rehash every byte.

    The function refuses damaged records, and virtual-time records whose bytes differ from the existing record. Raises
    InputError if a folder does not exist, and MachineError if the disk is full.
    """
    store, others = Store(results), [Store(existing(folder)) for folder in folders]
    with ExitStack() as stack:
        for each in (store, *others):
            stack.enter_context(each.held())
        outcomes = [_adopted(record, store) for other in others for record in other]
        for other in others:
            predictions.merge(other.predictions, store.predictions, _trials(store))
    return _added(results, outcomes)


def push(results: Path, target: Path) -> Added:
    """Write an archive of each record in the store at `results`, and its predictions, into the folder `target`.

    The function omits real-time records, because other machines would not reproduce them. Raises InputError without a
    record, and MachineError if the disk is full.
    """
    store, shared = Store(results), SharedFolder(target)
    records = [record for record in store if _shareable(record)]
    if not records:
        raise InputError(f"{results} holds no records of virtual time")
    target.mkdir(parents=True, exist_ok=True)
    with store.held():
        outcomes = [_pushed(record, shared) for record in records]
    with _predictions_of(shared, store) as theirs:
        predictions.merge(store.predictions, theirs, _trials(store))
        shared.put(PREDICTIONS, theirs)
    return _added(target, outcomes)


def source(where: str) -> Callable[[Iterable[Trial], Store, Callable[[str], None]], None]:
    """Return a function like `fetch` for the shared store at a URL or in a folder.

    Raises InputError if there is no such folder.
    """
    shared = shared_store(where)
    return lambda trials, store, remark: fetch(trials, shared, store, remark)


def fetch(trials: Iterable[Trial], shared: SharedStore, store: Store, remark: Callable[[str], None]) -> None:
    """Add the missing records of these trials, with their predictions, from the shared store to `store`.

    The function skips an archive that is incomplete or belongs to another trial, and calls `remark` with the reason.
    Raises MachineError if the shared store cannot be read or the disk is full.
    """
    asked = tuple(trials)
    lacking = [trial.address for trial in asked if travels(trial) and store.get(trial.address) is None]
    if not lacking:
        return

    def one(address: str) -> None:
        with shared.open(named(address)) as packed:
            if packed:
                try:
                    store.receive(address, packed, shared.where(named(address)))
                except RecordError as error:
                    remark(str(error))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(one, lacking))  # raises the error of a failed one
    try:
        with _predictions_of(shared, store) as theirs:
            predictions.merge(theirs, store.predictions, asked)
    except RecordError as error:
        remark(str(error))


def _adopted(record: Record, store: Store) -> bool | str:
    """Return whether the record is new in `store`, or the reason for which it is refused."""
    try:
        record.verify()
        present = store.get(record.address)
        if present is None:
            store.adopt(record)
            return True
        if travels(record.trial) and present.outputs != record.outputs:
            return f"{record.folder} is refused: {present.folder} has different bytes of the same trial"
    except RecordError as error:
        return f"{record.folder} is refused: {str(error).removeprefix(f'{record.folder} ')}"
    return False


def _shareable(record: Record) -> bool:
    try:
        return travels(record.trial)
    except RecordError:
        return True  # the caller refuses it for its own damage


def _pushed(record: Record, shared: SharedFolder) -> bool | str:
    try:
        return shared.add(record)
    except RecordError as error:
        return f"{record.folder} is refused: {str(error).removeprefix(f'{record.folder} ')}"


def _trials(store: Store) -> Iterator[Trial]:
    for record in store:
        with suppress(RecordError):
            yield record.trial


def _added(store: Path, outcomes: Sequence[bool | str]) -> Added:
    refused = tuple(outcome for outcome in outcomes if isinstance(outcome, str))
    return Added(store, outcomes.count(True), outcomes.count(False), refused)


@contextmanager
def _predictions_of(shared: SharedStore, store: Store) -> Iterator[Path]:
    """Yield a folder with the predictions of a shared store. The folder is empty if there are no predictions.

    Raises RecordError.
    """
    with store.scratch() as folder:
        with shared.open(PREDICTIONS) as packed:
            if packed:
                try:
                    archive.unpack(packed, folder)
                except ArchiveError as error:
                    raise RecordError(f"{shared.where(PREDICTIONS)} is refused: {error}") from None
        yield folder
