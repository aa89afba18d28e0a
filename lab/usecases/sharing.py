"""Put stores together, and share records: adopt other stores, write archives, read them before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import archive
from lab.archive import ArchiveError
from lab.errors import InputError
from lab.record.record import Record, RecordError
from lab.record.shared import PREDICTIONS, SharedFolder, SharedStore, named
from lab.record.store import Store
from lab.record.trial import Trial
from lab.runner.schedule import travels
from lab.verdict import predictions

__all__ = ["Added", "fetch", "merge", "push"]

_AT_ONCE = 8  # requests to a server


@dataclass(frozen=True)
class Added:
    """Say what became of records: how many are new in the store, how many it had, and why others were refused."""

    store: Path
    added: int
    present: int
    refused: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return 1 when a record was refused, else 0."""
        return int(bool(self.refused))

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {"store": str(self.store), "added": self.added, "present": self.present, "refused": list(self.refused)}


def merge(folders: Sequence[Path], results: Path) -> Added:
    """Add the records and predictions of other stores to the one at `results`; every byte is hashed again.

    Refused are damaged records, and those that this store has with other bytes although they are of virtual time.
    Raises InputError when a folder does not exist, MachineError when the disk is full.
    """
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder} is no store of records")
    store, others = Store(results), [Store(folder) for folder in folders]
    with ExitStack() as stack:
        for each in (store, *others):
            stack.enter_context(each.held())
        outcomes = [_adopted(record, store) for other in others for record in other]
        for other in others:
            predictions.merge(other.predictions, store.predictions)
    return _added(results, outcomes)


def push(results: Path, target: Path) -> Added:
    """Write an archive of each record of the store at `results` into the folder `target`, and its predictions.

    Records of real time stay here: another machine would not get them. Raises InputError without a record,
    MachineError when the disk is full.
    """
    store, shared = Store(results), SharedFolder(target)
    records = [record for record in store if _shareable(record)]
    if not records:
        raise InputError(f"{results} holds no records of virtual time")
    target.mkdir(parents=True, exist_ok=True)
    with store.held():
        outcomes = [_pushed(record, shared) for record in records]
    with _predictions_of(shared, store) as theirs:
        predictions.merge(store.predictions, theirs)
        shared.put(PREDICTIONS, theirs)
    return _added(target, outcomes)


def fetch(trials: Iterable[Trial], shared: SharedStore, store: Store, remark: Callable[[str], None]) -> None:
    """Add to `store` the records that it lacks of these trials and the shared store has, and what was predicted.

    An archive that is not whole, or is another trial's, is left out: `remark` is told. Raises MachineError when the
    shared store cannot be read, or the disk is full.
    """
    lacking = [trial.address for trial in trials if travels(trial) and store.get(trial.address) is None]
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
        list(pool.map(one, lacking))  # raises what one of them raised
    try:
        with _predictions_of(shared, store) as theirs:
            predictions.merge(theirs, store.predictions)
    except RecordError as error:
        remark(str(error))


def _adopted(record: Record, store: Store) -> bool | str:
    """Return whether the record is new in `store`, or why it is refused."""
    try:
        record.verify()
        present = store.get(record.address)
        if present is None:
            store.adopt(record)
            return True
        if travels(record.trial) and present.outputs != record.outputs:
            return f"{record.folder} is refused: {present.folder} has other bytes of the same trial"
    except RecordError as error:
        return f"{record.folder} is refused: {str(error).removeprefix(f'{record.folder} ')}"
    return False


def _shareable(record: Record) -> bool:
    try:
        return travels(record.trial)
    except RecordError:
        return True  # it is refused for what it is


def _pushed(record: Record, shared: SharedFolder) -> bool | str:
    try:
        return shared.add(record)
    except RecordError as error:
        return f"{record.folder} is refused: {str(error).removeprefix(f'{record.folder} ')}"


def _added(store: Path, outcomes: Sequence[bool | str]) -> Added:
    refused = tuple(outcome for outcome in outcomes if isinstance(outcome, str))
    return Added(store, outcomes.count(True), outcomes.count(False), refused)


@contextmanager
def _predictions_of(shared: SharedStore, store: Store) -> Iterator[Path]:
    """Yield a folder with the predictions of a shared store, empty when it has none. Raises RecordError."""
    with store.scratch() as folder:
        with shared.open(PREDICTIONS) as packed:
            if packed:
                try:
                    archive.unpack(packed, folder)
                except ArchiveError as error:
                    raise RecordError(f"{shared.where(PREDICTIONS)} is refused: {error}") from None
        yield folder
