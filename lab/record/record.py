"""Read a finished trial from its folder. Each part is read only when needed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lab.errors import LabError
from lab.guest.key import CaseKey
from lab.guest.network import Network
from lab.guest.trial import Trial, canonical
from lab.record import packed
from lab.record.declared import Undeclared, trial_in
from lab.record.packed import Output, PackedError
from lab.record.plain import ready
from lab.record.reading import files_below, is_inside, is_regular, regular
from lab.units import from_plain, to_plain

__all__ = ["FORMAT", "LONGEST_TEXT", "Contents", "Fault", "Output", "Record", "RecordError", "digest", "written"]

FORMAT = 1
TRIAL_FILE, RECORD_FILE, HOST_FILE = "trial.json", "record.json", "host.json"
LONGEST_TEXT = 256 << 20  # bytes of an output that is read into memory as a whole: the longest of any claim has 20 MB
RUN_OF = "run_of"  # in host.json
CONSOLE, OUT = "console.log", "out"
_PARTS = {TRIAL_FILE: "trial", RECORD_FILE: "_contents", HOST_FILE: "host"}  # the property that reads each file
_MOST = {TRIAL_FILE: 32 << 20, RECORD_FILE: 32 << 20, HOST_FILE: 1 << 20}  # bytes: all three are read as a whole
_MOST_ENVIRONMENT = 4 << 20  # bytes of the environment, because its contents have no types
_T = TypeVar("_T")


class RecordError(LabError):
    """Raised if a record is incomplete or damaged, or has a format that this version does not read."""


class Fault(msgspec.Struct, frozen=True):
    """Describes the fault in one file of a record."""

    file: str  # from the record's folder
    what: str

    def __str__(self) -> str:
        return f"{self.file} {self.what}"


class Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the contents of record.json, which has the same bytes for identical trials.

    Host, user and time are in host.json.
    """

    format: int
    environment: dict[str, Any]
    invalid: list[str]
    outputs: dict[str, Output]


class _Sizes(msgspec.Struct, frozen=True):
    """Reads the parts of record.json that decide how to read the other parts."""

    format: msgspec.Raw = msgspec.Raw(b"null")
    environment: msgspec.Raw = msgspec.Raw()


class _Named(msgspec.Struct, frozen=True):
    """Reads only the name of the claim from trial.json."""

    claim: str


ready(Contents, _Named)


class Record:
    """Reads one trial's inputs, environment and outputs from `folder`. Raises RecordError for a damaged part."""

    port: int | None = None  # the server's port, if it concerns one server's connections; None: all of them

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"Record({str(self.folder)!r})"

    @property
    def address(self) -> str:
        """The trial's address, which is the folder's name."""
        return self.folder.name

    def load(self) -> None:
        """Read all data except the outputs, so that the data survives the record's removal. Raises RecordError."""
        _ = self.trial, self._contents, self.host

    def read_back(self) -> None:
        """Check that the record's own files are readable, before its folder gets its address.

        Raises RecordError if the files would be unreadable.
        """
        with self._readable(TRIAL_FILE):
            self._bytes(TRIAL_FILE)
        _ = self._contents, self.host

    @cached_property
    def trial(self) -> Trial:
        """The trial's inputs. The hash of the inputs is the address, so the inputs of any other trial are refused."""
        with self._readable(TRIAL_FILE):
            trial = trial_in(self._bytes(TRIAL_FILE))
        if trial.address != self.address:
            raise RecordError(f"{self.folder} is damaged: {TRIAL_FILE} belongs to another trial")
        return trial

    @property
    def claim(self) -> str:
        """The claim that the trial's file names, for a reader who looks for some claims. `trial` checks all inputs."""
        return self._load(TRIAL_FILE, _Named).claim

    @property
    def network(self) -> dict[str, Any]:
        """The trial's network in plain form, including the fields that the file omits because they have default
        values.
        """
        plain: dict[str, Any] = to_plain(from_plain(self.trial.network, Network))
        return plain

    @cached_property
    def _contents(self) -> Contents:
        sizes = self._load(RECORD_FILE, _Sizes)
        if (told := bytes(sizes.format).decode()) != str(FORMAT):
            told = f"format {told[:40]} of a record is unknown to this version"
            raise RecordError(f"{self.folder}: {told}; this version reads {FORMAT}")
        if len(bytes(sizes.environment)) > _MOST_ENVIRONMENT:
            raise RecordError(f"{self.folder} is damaged: {RECORD_FILE}: the environment is too large")
        contents = self._load(RECORD_FILE, Contents)
        if outside := [name for name in contents.outputs if not is_inside(name)]:
            raise RecordError(f"{self.folder} is damaged: {RECORD_FILE}: {outside[0][:100]!r} is not an output's name")
        return contents

    @property
    def environment(self) -> dict[str, Any]:
        """The environment as read back inside the trial: kernel, sysctls, offloads, qdiscs."""
        return self._contents.environment

    @property
    def invalid(self) -> tuple[str, ...]:
        """The reasons why the trial is invalid; empty if it is valid."""
        return tuple(self._contents.invalid)

    @property
    def outputs(self) -> dict[str, Output]:
        """The files in out/, by name."""
        return self._contents.outputs

    @cached_property
    def host(self) -> dict[str, Any]:
        """The place and time of the run.

        Identical trials have different places and times, so no figure may depend on these.
        """
        return self._load(HOST_FILE, dict[str, Any])

    @property
    def started(self) -> str:
        """The date on which the trial started, in the form of `lab.record.date`; "" if the record does not have the
        date.
        """
        return str(self.host.get("started", ""))

    @property
    def run_of(self) -> str:
        """The address of the trial that ran instead of this trial (see `Store.share`); "" if this trial itself ran."""
        return str(self.host.get(RUN_OF, ""))

    @property
    def batch(self) -> str:
        """The trial's batch: real-time trials that ran one after another in random order; "" if the trial was in no
        batch.
        """
        return str(self.host.get("batch", ""))

    def path(self, name: str) -> Path:
        """Return the path of the output `name`.

        A packed output is unpacked into a file that exists until this process ends. Raises RecordError if there is no
        such output or a packed output is damaged, and MachineError if the disk is full.
        """
        if name not in self.outputs:
            raise RecordError(f"{self.folder}: no output '{name}'; it has {', '.join(self.outputs) or 'none'}")
        plain, place = self.forms(name)
        if plain:
            return plain
        if place is None:
            raise RecordError(f"{self.folder} is damaged: {OUT}/{name} is missing, or is not a regular file")
        with self._damaged(place):
            return packed.own_copy(place, self.outputs[name])

    def forms(self, name: str) -> tuple[Path | None, Path | None]:
        """Return the paths of the output `name` in plain and in packed form. A missing form is None."""
        packed_name = f"{name}{packed.SUFFIX}"
        place = None if packed_name in self.outputs else self._output(packed_name)  # it may be another output
        return self._output(name), place

    def _output(self, name: str) -> Path | None:
        """Return the path of a regular file in out/ whose path has no links, or None if there is no such file."""
        return self.folder / OUT / name if is_regular(self.folder, f"{OUT}/{name}") else None

    @contextmanager
    def unpacked(self) -> Iterator[Path]:
        """Yield a folder with all files in the trial's own form: the record folder, or a copy if some files are packed.

        Raises RecordError if a packed output is damaged, and MachineError if the disk is too full for the copy.
        """
        places = {place: name for name in self.outputs if (place := self.forms(name)[1])}
        with ExitStack() as stack:
            whole = self.folder
            if places:
                with packed.room():
                    whole = stack.enter_context(packed.scratch()) / self.address
                    shutil.copytree(
                        self.folder,
                        whole,
                        ignore=lambda top, names: {name for name in names if Path(top, name) in places},
                    )
                    for place, name in places.items():
                        if not (whole / "out" / name).exists():
                            with self._damaged(place):
                                packed.unpack(place, whole / "out" / name, self.outputs[name])
            yield whole

    def text(self, name: str) -> str:
        """Return the output `name` as text, of at most LONGEST_TEXT bytes."""
        if name in self.outputs and self.outputs[name].bytes > LONGEST_TEXT:
            raise RecordError(f"{self.folder}: output '{name}' is unreadable: it has more than {LONGEST_TEXT} bytes")
        try:
            return self.path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RecordError(f"{self.folder}: output '{name}' is unreadable: {_reason(error)}") from error

    def json(self, name: str) -> Any:
        """Return the output `name`, parsed as JSON."""
        try:
            return msgspec.json.decode(self.text(name))
        except (msgspec.DecodeError, RecursionError) as error:
            raise RecordError(f"{self.folder}: output '{name}' is not JSON: {error}") from error

    def verify(self, hashes: Mapping[str, str] | None = None) -> None:
        """Compare every hash. Raises RecordError with all files that are missing, altered or unexpected.

        `hashes` holds the SHA-256, by path, of files that were just written, so that these files are not read again.
        """
        if faults := self.faults(hashes):
            raise RecordError(f"{self.folder} is damaged: {'; '.join(map(str, faults))}")

    def faults(self, hashes: Mapping[str, str] | None = None) -> tuple[Fault, ...]:
        """Compare every hash, and return the faults in the files; empty if the record is intact.

        `hashes` is as in `verify`.
        """
        found = list(self._unreadable())
        unreadable = {fault.file for fault in found}
        if TRIAL_FILE not in unreadable:
            found += self._rewritten()
        if RECORD_FILE not in unreadable:
            found += self._altered(hashes or {})
        return tuple(found)

    def _unreadable(self) -> Iterator[Fault]:
        for name, part in _PARTS.items():
            try:
                getattr(self, part)
            except RecordError as error:
                said = str(error).removeprefix(str(self.folder)).removeprefix(f" is damaged: {name}")
                yield Fault(name, f"cannot be read{said}" if said.startswith(":") else said.strip())

    def _rewritten(self) -> Iterator[Fault]:
        try:
            if self._bytes(TRIAL_FILE) != written(self.trial):
                yield Fault(TRIAL_FILE, "was altered")
        except OSError as error:  # it has vanished since it was listed
            yield Fault(TRIAL_FILE, f"cannot be read: {_reason(error)}")

    def _altered(self, known: Mapping[str, str]) -> Iterator[Fault]:
        belong: set[str] = set()
        for name, output in self.outputs.items():
            file = f"{OUT}/{name}"
            try:
                plain, place = self.forms(name)
                belong |= {file, f"{file}{packed.SUFFIX}"} if place else {file}
                if not (plain or place):
                    (self.folder / file).lstat()
                    yield Fault(file, "is not a regular file")
                elif plain and digest(plain, known.get(file)) != output:
                    yield Fault(file, "was altered")
                if place:
                    packed.check(place, output)
            except PackedError as error:
                yield Fault(f"{file}{packed.SUFFIX}", str(error))
            except FileNotFoundError:
                yield Fault(file, "is missing")
            except OSError as error:
                yield Fault(file, f"cannot be read: {_reason(error)}")
        yield from self._strange(belong)

    def _strange(self, outputs: Collection[str]) -> Iterator[Fault]:
        """Yield all paths that are not part of a record, such as links and special files."""
        for name in sorted(files_below(self.folder)):
            if name not in outputs and name not in _PARTS and name != CONSOLE:
                yield Fault(name, "does not belong")
        if os.path.lexists(self.folder / CONSOLE) and not is_regular(self.folder, CONSOLE):
            yield Fault(CONSOLE, "is not a regular file")

    @contextmanager
    def _damaged(self, place: Path) -> Iterator[None]:
        """Convert an error about a packed output to a RecordError."""
        try:
            yield
        except PackedError as error:
            raise RecordError(f"{self.folder} is damaged: {place.relative_to(self.folder)} {error}") from error

    def _load(self, name: str, kind: type[_T]) -> _T:
        with self._readable(name):
            return msgspec.json.decode(self._bytes(name), type=kind)

    def _bytes(self, name: str) -> bytes:
        return regular(self.folder / name, _MOST[name])

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        """Convert an error about one of the record's own files to a RecordError."""
        try:
            yield
        except (OSError, Undeclared, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"{self.folder} is damaged: {name}: {_reason(error)}") from error


def written(value: Any) -> bytes:
    """Return the JSON text of `value` in the form that a record's own files use."""
    return msgspec.json.format(canonical(value), indent=1) + b"\n"


def by_case(records: Iterable[Record]) -> dict[CaseKey, list[Record]]:
    """Return the records of each case, in order. Raises RecordError if a trial is damaged."""
    found: dict[CaseKey, list[Record]] = {}
    for record in records:
        found.setdefault(record.trial.key, []).append(record)
    return found


def digest(path: Path, known: str | None = None) -> Output:
    """Return the hash and size of one file. If the hash is `known`, the file is not read."""
    with path.open("rb") as file:
        return Output(known or hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
