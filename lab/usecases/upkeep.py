"""Keep a store in order: say what takes its room, pack and remove records, and hash every one again."""

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

from lab import outputs
from lab.building import Progress
from lab.errors import InputError
from lab.record.packed import SUFFIX
from lab.record.record import Fault, Record, RecordError
from lab.record.store import Store
from lab.record.trial import HOST, Trial
from lab.runner import tools
from lab.runner.guest import KEPT
from lab.spec import find
from lab.spec.key import CaseKey
from lab.spec.loaded import LoadedExperiment
from lab.usecases import disk
from lab.usecases.packing import Form, Repacked, exchange
from lab.userland.lock import locked
from lab.verdict.judged import asked_for

__all__ = ["Checkup", "Collection", "Doomed", "Usage", "Wanted", "check", "collect", "repack", "usage"]

FOLDERS = "folders"
BESIDE = {
    "predictions": "predictions",
    KEPT: "consoles of failed trials",
    ".staging": "unfinished",
}  # folder -> what is in it
UNREADABLE = "(unreadable)"  # stands for the claim of a record that does not say whose it is
Planned = Callable[[Trial], str]  # says why no claim plans a trial; "" where one does, or where its claim is not here


@dataclass(frozen=True)
class Usage:
    """Say what takes a store's room: (files, bytes) by claim and by kind of file, and how many records there are.

    Bytes are those that the disk gives, in blocks, as `du` counts.
    """

    store: Path
    records: Mapping[str, int]
    claims: Mapping[str, tuple[int, int]]
    kinds: Mapping[str, tuple[int, int]]

    @property
    def bytes(self) -> int:
        """Return what all files and folders take together."""
        return sum(size for _, size in self.kinds.values())

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
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
    """Say which records are meant: those that every condition fits."""

    claims: tuple[str, ...] = ()  # ids, articles, packs
    older_than: timedelta | None = None
    kernel: str | None = None  # name, version or id
    unplanned: bool = False  # only those that no claim plans any more

    @property
    def everything(self) -> bool:
        """Return whether there is no condition."""
        return not (self.claims or self.older_than is not None or self.kernel or self.unplanned)


@dataclass(frozen=True)
class Doomed:
    """Hold a record that may go, and why."""

    record: Record
    bytes: int
    because: str

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
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
    """Say which records went, or would go, and how many stay."""

    store: Path
    doomed: tuple[Doomed, ...]
    stay: int
    removed: bool

    @property
    def bytes(self) -> int:
        """Return what the disk gets back: what they do not share with what stays."""
        return sum(each.bytes for each in self.doomed)

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {
            "store": str(self.store),
            "records": [each.plain() for each in self.doomed],
            "bytes": self.bytes,
            "stay": self.stay,
            "removed": self.removed,
        }


@dataclass(frozen=True)
class Checkup:
    """Say what is wrong with which file of a store, and which records were removed for it."""

    store: Path
    records: int
    faults: tuple[tuple[str, Fault], ...]  # the folder, from the store's; the fault
    removed: tuple[str, ...]  # addresses

    @property
    def exit_code(self) -> int:
        """Return 1 when something was wrong, removed or not, else 0."""
        return int(bool(self.faults))

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {
            "store": str(self.store),
            "records": self.records,
            "faults": [{"folder": folder, "file": fault.file, "what": fault.what} for folder, fault in self.faults],
            "removed": list(self.removed),
        }


def usage(results: Path) -> Usage:
    """Return what takes the room of the store at `results`, the most first; a file that records share counts once.

    Raises InputError without a store.
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
    """Return the records at `results` that may go; with `remove` they go, each whole or not at all.

    Damaged records stay (`check` is about them), and so do those of claims that are not here, unless they are named.
    Raises InputError without a condition, without a store or for an unknown claim, SpecError for mistakes in files, and
    with `remove` StoreInUse while somebody uses the store.
    """
    if wanted.everything:
        raise InputError("say which records may go: CLAIM, --older-than, --kernel or --unplanned")
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
    """Pack or unpack the large outputs of records at `results`, as `exchange` does, and raise as it does.

    Raises InputError without a store or for an unknown claim, SpecError for mistakes in files, too.
    """
    store = _store(results)
    return exchange(store, _fitting(store, wanted), form, progress)


def check(results: Path, remove: bool = False) -> Checkup:
    """Hash every record at `results` again, and return what is wrong; with `remove` damaged records go.

    Their trials run again with the next `lab run`. Raises InputError without a store, and with `remove` StoreInUse
    while somebody uses the store.
    """
    store = _store(results)
    records = list(store)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # hashing holds no lock of Python's
        found = list(zip(records, pool.map(Record.faults, records), strict=True))
    faults = [(_place(record), fault) for record, some in found for fault in some]
    faults += [(place, fault) for place, fault in _strangers(store)]
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
    if not results.is_dir():
        raise InputError(f"{results} is no store of records")
    return Store(results)


def _claim(record: Record) -> str:
    try:
        return record.trial.claim
    except RecordError:
        return UNREADABLE


def _kind(path: Path, status: os.stat_result) -> str:
    """Say what a file is, by its path from the record's folder."""
    if stat.S_ISDIR(status.st_mode):
        return FOLDERS
    if path.parts[0] != "out":
        return "inputs and environment" if path.suffix == ".json" else "consoles"
    name, packed = path.name.removesuffix(SUFFIX), ", packed" if path.suffix == SUFFIX else ""
    if outputs.captures([name]):
        return f"captures{packed}"
    return f"samples of tcp_info{packed}" if outputs.is_tcp_info(name) else "other outputs"


def _beside(path: Path, status: os.stat_result) -> str:
    """Say what lies beside the records, by its path from the store."""
    if stat.S_ISDIR(status.st_mode):
        return FOLDERS
    return BESIDE.get(path.parts[0], "what is no record's")


def _add(table: dict[str, tuple[int, int]], key: str, status: os.stat_result) -> None:
    files, total = table.get(key, (0, 0))
    table[key] = files + (not stat.S_ISDIR(status.st_mode) or key == FOLDERS), total + disk.taken(status)


def _by_size(table: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return dict(sorted(table.items(), key=lambda each: (-each[1][1], each[0])))


def _fitting(store: Store, wanted: Wanted) -> Callable[[Record], str]:
    """Return what says of a record why it may go, or ""."""
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
    """Return the ids that are named: of claims that have records, though they may be gone, or that are here."""
    stored = {_claim(record) for record in store} if claims else set()
    found: set[str] = set()
    for name in claims:
        own = {claim for claim in stored if claim == name or claim.startswith(f"{name}/")}
        found |= own or {loaded.id for loaded in find.find([name])}
    return found


def _planning() -> Planned:
    """Return what says why no claim that is here plans a trial any more."""
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
        return "" if trial.tools.get("lab") == code else "other code of the lab"

    return why


def _asking(loaded: LoadedExperiment) -> tuple[Callable[[Trial], bool], Mapping[CaseKey, str]]:
    cases = {case.key: case for case in loaded.cases()}
    return asked_for(loaded, cases), {key: locked(case.userland).id for key, case in cases.items()}


def _is_older(record: Record, until: datetime) -> bool:
    """Say whether a record is older; False where it does not tell its date."""
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
    """Yield what lies where records do, and is none."""
    own = {record.folder for record in store}
    for folder in sorted(store.root.glob("[0-9a-f][0-9a-f]")):
        for path in sorted(folder.iterdir()) if folder.is_dir() else [folder]:
            if path not in own:
                yield path.parent.relative_to(store.root).as_posix(), Fault(path.name, "is no record")
            elif not path.name.startswith(folder.name):
                yield folder.name, Fault(path.name, "lies in another record's folder")
