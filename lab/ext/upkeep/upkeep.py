"""Maintain a store: show its disk usage, pack and remove records, and rehash every record."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lab.app.options import existing
from lab.base.building import Progress
from lab.errors import InputError
from lab.ext.upkeep import disk
from lab.ext.upkeep.packing import Form, Repacked, exchange
from lab.guest import outputs
from lab.guest.key import CaseKey
from lab.guest.trial import HOST, Trial
from lab.machine.userland.lock import locked
from lab.record.packed import SUFFIX
from lab.record.record import Fault, Record, RecordError
from lab.record.store import Store
from lab.runner import tools
from lab.runner.guest import KEPT
from lab.spec import find
from lab.spec.loaded import LoadedExperiment
from lab.verdict import predictions
from lab.verdict.judged import asked_for

FOLDERS = "folders"
BESIDE = {
    "predictions": "predictions",
    KEPT: "consoles of failed trials",
    ".staging": "unfinished",
}  # folder -> its contents
UNREADABLE = "(unreadable)"  # stands for the claim of a record that does not name its claim
_Planned = Callable[
    [Trial], str
]  # returns why no claim plans a trial; "" if one does, or if its claim is not installed


@dataclass(frozen=True)
class Usage:
    """Counts a store's disk usage: (files, bytes) by claim and by kind of file, and the number of records.

    Bytes count whole disk blocks, as in `du`.
    """

    store: Path
    records: Mapping[str, int]
    claims: Mapping[str, tuple[int, int]]
    kinds: Mapping[str, tuple[int, int]]

    @property
    def bytes(self) -> int:
        """Return the disk space of all files and folders together."""
        return sum(size for _, size in self.kinds.values())

    def plain(self) -> dict[str, Any]:
        """Return this as plain data for JSON."""
        return {
            "store": str(self.store),
            "records": sum(self.records.values()),
            "bytes": self.bytes,
            "claims": [
                {"claim": claim, "records": self.records[claim], "files": files, "bytes": size}
                for claim, (files, size) in self.claims.items()
            ],
            "kinds": [{"kind": kind, "files": files, "bytes": size} for kind, (files, size) in self.kinds.items()],
        }


@dataclass(frozen=True)
class Wanted:
    """Selects the records that match every condition."""

    claims: tuple[str, ...] = ()  # ids, articles, packs
    older_than: timedelta | None = None
    kernel: str | None = None  # name, version or id
    unplanned: bool = False  # only records that no claim plans any more

    @property
    def everything(self) -> bool:
        """Return whether there is no condition."""
        return not (self.claims or self.older_than is not None or self.kernel or self.unplanned)


@dataclass(frozen=True)
class Doomed:
    """Holds a record to remove and the reason."""

    record: Record
    bytes: int
    because: str

    def plain(self) -> dict[str, Any]:
        """Return this as plain data for JSON."""
        trial = self.record.trial
        return {
            "address": self.record.address,
            "claim": trial.claim,
            "arm": trial.arm,
            "point": trial.point,
            "seed": trial.seed,
            "kernel": trial.kernel.get("name"),
            "started": _started(self.record),
            "bytes": self.bytes,
            "because": self.because,
        }


@dataclass(frozen=True)
class Collection:
    """Lists the records that were or would be removed, and counts the records that stay."""

    store: Path
    doomed: tuple[Doomed, ...]
    stay: int
    removed: bool

    @property
    def bytes(self) -> int:
        """Return the disk space that the removal frees: the bytes not shared with remaining files."""
        return sum(each.bytes for each in self.doomed)

    def plain(self) -> dict[str, Any]:
        """Return this as plain data for JSON."""
        return {
            "store": str(self.store),
            "records": [each.plain() for each in self.doomed],
            "bytes": self.bytes,
            "stay": self.stay,
            "removed": self.removed,
        }


@dataclass(frozen=True)
class Checkup:
    """Lists the faults in a store's files and the records that were removed because of them."""

    store: Path
    records: int
    faults: tuple[tuple[str, Fault], ...]  # the folder, relative to the store; the fault
    removed: tuple[str, ...]  # addresses

    @property
    def exit_code(self) -> int:
        """Return 1 if there was a fault, even if its record was removed, else 0."""
        return int(bool(self.faults))

    def plain(self) -> dict[str, Any]:
        """Return this as plain data for JSON."""
        return {
            "store": str(self.store),
            "records": self.records,
            "faults": [{"folder": folder, "file": fault.file, "what": fault.what} for folder, fault in self.faults],
            "removed": list(self.removed),
        }


def usage(results: Path) -> Usage:
    """Return the disk usage of the store at `results`, the largest first.

    A file that several records share is counted once. Raises InputError without a store.
    """
    store = _store(results)
    records: Counter[str] = Counter()
    claims: dict[str, tuple[int, int]] = {}
    kinds: dict[str, tuple[int, int]] = {}
    seen: set[tuple[int, int]] = set()
    for record in store:
        claim = _claim(record)
        records[claim] += 1
        for path, status in disk.unseen(record.folder, seen):
            _add(claims, claim, status)
            _add(kinds, _kind(path.relative_to(record.folder), status), status)
    own = {record.folder for record in store}
    for path, status in disk.unseen(store.root, seen):
        if own.isdisjoint((path, *path.parents)):
            _add(kinds, _beside(path.relative_to(store.root), status), status)
    return Usage(results, records, _by_size(claims), _by_size(kinds))


def collect(results: Path, wanted: Wanted, remove: bool) -> Collection:
    """Return the records at `results` that match. With `remove`, remove each record atomically.

    Damaged records stay (see `check`), as do records of claims that are neither installed nor named. Raises InputError
    without a condition, without a store or for an unknown claim, SpecError for mistakes in files, and, with `remove`,
    StoreInUse while a command uses the store.
    """
    if wanted.everything:
        raise InputError("choose the records to remove with CLAIM, --older-than, --kernel or --unplanned")
    store = _store(results)
    fits = _fitting(store, wanted)
    if not remove:
        return _collected(store, fits, removed=False)
    with store.alone():
        found = _collected(store, fits, removed=True)
        for each in found.doomed:
            store.remove(each.record.address)
    return found


def repack(results: Path, wanted: Wanted, form: Form, progress: Progress) -> Repacked:
    """Pack or unpack the large outputs of the matching records at `results`. Raises the errors of `exchange`.

    Also raises InputError without a store or for an unknown claim, and SpecError for mistakes in files.
    """
    store = _store(results)
    return exchange(store, _fitting(store, wanted), form, progress)


def check(results: Path, remove: bool = False) -> Checkup:
    """Rehash every record at `results`, and return the faults. With `remove`, remove damaged records.

    The next `lab run` reruns their trials. Raises InputError without a store and, with `remove`, StoreInUse while a
    command uses the store.
    """
    store = _store(results)
    records = list(store)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # hashing releases Python's global lock
        found = list(zip(records, pool.map(Record.faults, records), strict=True))
    faults = [(_place(record), fault) for record, some in found for fault in some]
    faults += _strangers(store)
    faults += [(store.predictions.name, fault) for fault in predictions.faults(store.predictions)]
    damaged = [record.address for record, some in found if some]
    if remove and damaged:
        with store.alone():
            for address in damaged:
                store.remove(address)
    return Checkup(
        results,
        len(records),
        tuple(sorted(faults, key=lambda each: (each[0], each[1].file))),
        tuple(damaged) if remove else (),
    )


def _store(results: Path) -> Store:
    return Store(existing(results))


def _claim(record: Record) -> str:
    try:
        return record.trial.claim
    except RecordError:
        return UNREADABLE


def _kind(path: Path, status: os.stat_result) -> str:
    """Return the kind of a file from its path relative to the record folder."""
    if stat.S_ISDIR(status.st_mode):
        return FOLDERS
    if path.parts[0] != "out":
        return "inputs and environment" if path.suffix == ".json" else "consoles"
    name, packed = path.name.removesuffix(SUFFIX), ", packed" if path.suffix == SUFFIX else ""
    if outputs.captures([name]):
        return f"captures{packed}"
    return f"samples of tcp_info{packed}" if outputs.is_tcp_info(name) else "other outputs"


def _beside(path: Path, status: os.stat_result) -> str:
    """Return the kind of a file next to the records from its path relative to the store."""
    if stat.S_ISDIR(status.st_mode):
        return FOLDERS
    return BESIDE.get(path.parts[0], "files of no record")


def _add(table: dict[str, tuple[int, int]], key: str, status: os.stat_result) -> None:
    files, total = table.get(key, (0, 0))
    table[key] = files + (not stat.S_ISDIR(status.st_mode) or key == FOLDERS), total + disk.taken(status)


def _by_size(table: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return dict(sorted(table.items(), key=lambda each: (-each[1][1], each[0])))


def _fitting(store: Store, wanted: Wanted) -> Callable[[Record], str]:
    """Return a function that returns the reason why a record matches, or ""."""
    named = _named(wanted.claims, store)
    why_unplanned = _planning() if wanted.unplanned else None
    until = datetime.now(UTC) - wanted.older_than if wanted.older_than is not None else None

    def fits(record: Record) -> str:
        trial = record.trial
        if wanted.claims and trial.claim not in named:
            return ""
        if wanted.kernel and wanted.kernel not in (trial.kernel.get(key) for key in ("name", "version", "id")):
            return ""
        if until is not None and not _is_older(record, until):
            return ""
        return why_unplanned(trial) if why_unplanned else "asked for"

    return fits


def _named(claims: Sequence[str], store: Store) -> set[str]:
    """Return the ids of the named claims, which have stored records or are installed."""
    stored = {_claim(record) for record in store} if claims else set()
    found: set[str] = set()
    for name in claims:
        own = {claim for claim in stored if claim == name or claim.startswith(f"{name}/")}
        found |= own or {loaded.id for loaded in find.find([name])}
    return found


def _planning() -> _Planned:
    """Return a function that returns the reason why no installed claim plans a trial any longer, or ""."""
    code = tools.own_code()
    here = {loaded.id: loaded for loaded in find.find(find.experiments())}
    asking = {claim: _asking(loaded) for claim, loaded in here.items()}

    def why(trial: Trial) -> str:
        if trial.claim not in here:
            return ""
        asks, userlands = asking[trial.claim]
        if not asks(trial):
            return "its claim has changed"
        if trial.userland not in (HOST, userlands[trial.key]):
            return "another userland"
        return "" if trial.tools.get("lab") == code else "the lab's code has changed"

    return why


def _asking(loaded: LoadedExperiment) -> tuple[Callable[[Trial], bool], Mapping[CaseKey, str]]:
    cases = {case.key: case for case in loaded.cases()}
    return asked_for(loaded, cases), {key: locked(case.userland).id for key, case in cases.items()}


def _is_older(record: Record, until: datetime) -> bool:
    """Return whether a record is older than `until`; False if the record has no date."""
    try:
        return datetime.fromisoformat(_started(record)) < until
    except (ValueError, TypeError):
        return False


def _started(record: Record) -> str:
    try:
        return record.started
    except RecordError:
        return ""


def _collected(store: Store, fits: Callable[[Record], str], removed: bool) -> Collection:
    reasons: dict[Record, str] = {}
    records = list(store)
    for record in records:
        with suppress(RecordError):
            if because := fits(record):
                reasons[record] = because
    sizes = disk.freed([record.folder for record in reasons])
    doomed = tuple(Doomed(record, size, reasons[record]) for record, size in zip(reasons, sizes, strict=True))
    return Collection(store.root, doomed, len(records) - len(doomed), removed)


def _place(record: Record) -> str:
    return f"{record.folder.parent.name}/{record.folder.name}"


def _strangers(store: Store) -> Iterable[tuple[str, Fault]]:
    """Yield files that are among the records but are not records."""
    own = {record.folder for record in store}
    for folder in sorted(store.root.glob("[0-9a-f][0-9a-f]")):
        for path in sorted(folder.iterdir()) if folder.is_dir() else [folder]:
            if path not in own:
                yield path.parent.relative_to(store.root).as_posix(), Fault(path.name, "is not a record")
            elif not path.name.startswith(folder.name):
                yield folder.name, Fault(path.name, "is in a different record's folder")
