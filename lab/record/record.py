"""Read a finished trial from its folder. Nothing is read before it is asked for."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import msgspec

from lab.errors import LabError
from lab.record import packed
from lab.record.packed import Output, PackedError
from lab.record.plain import ready
from lab.record.trial import Trial, canonical
from lab.units import from_plain

__all__ = ["FORMAT", "Contents", "Fault", "Output", "Record", "RecordError", "digest", "written"]

FORMAT = 1
TRIAL_FILE, RECORD_FILE, HOST_FILE = "trial.json", "record.json", "host.json"
RUN_OF = "run_of"  # in host.json
_PARTS = {TRIAL_FILE: "trial", RECORD_FILE: "_contents", HOST_FILE: "host"}  # which property reads it
_T = TypeVar("_T")


class RecordError(LabError):
    """Raised when a record is missing a part, damaged, or of a format that this version does not read."""


class Fault(msgspec.Struct, frozen=True):
    """Says what is wrong with one file of a record."""

    file: str  # from the record's folder
    what: str

    def __str__(self) -> str:
        return f"{self.file} {self.what}"


class Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds what is in record.json, the same to the byte for identical trials. Host, user and time are in host.json."""

    format: int
    environment: dict[str, Any]
    invalid: list[str]
    outputs: dict[str, Output]


ready(Trial, Contents)


class Record:
    """Reads one trial's inputs, environment and outputs from `folder`. Readers raise RecordError for a damaged part."""

    port: int | None = None  # of the server whose connections it is about; None: of all there are

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"Record({str(self.folder)!r})"

    @property
    def address(self) -> str:
        """The trial's address, which is the folder's name."""
        return self.folder.name

    def load(self) -> None:
        """Read all that it says of itself, which is then known when the record has gone. Raises RecordError."""
        _ = self.trial, self._contents, self.host

    @cached_property
    def trial(self) -> Trial:
        """The trial's inputs, whose hash is the address: another trial's are none of this record."""
        trial = self._load(TRIAL_FILE, Trial)
        if trial.address != self.address:
            raise RecordError(f"{self.folder} is damaged: {TRIAL_FILE} is another trial's")
        return trial

    @cached_property
    def _contents(self) -> Contents:
        found = self._load(RECORD_FILE, dict[str, Any]).get("format")
        if found != FORMAT:
            raise RecordError(f"{self.folder}: format {found} of a record is unknown here; this version reads {FORMAT}")
        contents = self._load(RECORD_FILE, Contents)
        if outside := [name for name in contents.outputs if not _is_inside(name)]:
            raise RecordError(f"{self.folder} is damaged: {RECORD_FILE}: {outside[0]!r} is no name of an output")
        return contents

    @property
    def environment(self) -> dict[str, Any]:
        """The environment as read back inside the trial: kernel, sysctls, offloads, qdiscs."""
        return self._contents.environment

    @property
    def invalid(self) -> tuple[str, ...]:
        """The reasons why the trial does not count; empty when it does."""
        return tuple(self._contents.invalid)

    @property
    def outputs(self) -> dict[str, Output]:
        """The files in out/, by name."""
        return self._contents.outputs

    @cached_property
    def host(self) -> dict[str, Any]:
        """The place and time of the run. It differs between identical trials: no figure may come from it."""
        return self._load(HOST_FILE, dict[str, Any])

    @property
    def started(self) -> str:
        """The date on which the trial started, as `lab.record.date` writes it; "" if the record does not tell."""
        return str(self.host.get("started", ""))

    @property
    def run_of(self) -> str:
        """The address of the trial that was performed for this one, too (see `Store.share`); "" if it was itself."""
        return str(self.host.get(RUN_OF, ""))

    @property
    def batch(self) -> str:
        """The batch of real-time trials, run one after another in random order, that it was one of; "" if of none."""
        return str(self.host.get("batch", ""))

    def path(self, name: str) -> Path:
        """Return the path of the output `name`: of a packed one, that of a file that goes when this process ends.

        Raises RecordError when the trial left none or a packed one is damaged, MachineError when it finds no room.
        """
        if name not in self.outputs:
            raise RecordError(f"{self.folder}: no output '{name}'; there is {', '.join(self.outputs) or 'none'}")
        plain, place = self.forms(name)
        if plain or place is None:
            return self.folder / "out" / name
        with self._damaged(place):
            return packed.own_copy(place, self.outputs[name])

    def forms(self, name: str) -> tuple[Path | None, Path | None]:
        """Return where the output `name` lies as the trial left it, and where packed; None where it does not."""
        plain = self.folder / "out" / name
        place = None if f"{name}{packed.SUFFIX}" in self.outputs else packed.form(plain)  # which may be another output
        return plain if plain.is_file() else None, place if place and _is_there(place) else None

    @contextmanager
    def unpacked(self) -> Iterator[Path]:
        """Yield a folder with all files as the trial left them: the record's own, or a copy where some are packed.

        Raises RecordError when a packed output is damaged, MachineError when there is no room for the copy.
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
        """Return the output `name` as text."""
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
        """Compare every hash. Raises RecordError when files are missing, altered or unexpected, naming them all.

        `hashes` has the SHA-256 of files that were just written, by path: these are not read again.
        """
        if faults := self.faults(hashes):
            raise RecordError(f"{self.folder} is damaged: {'; '.join(map(str, faults))}")

    def faults(self, hashes: Mapping[str, str] | None = None) -> tuple[Fault, ...]:
        """Compare every hash, and return what is wrong, file by file; nothing where the record is whole.

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
            if (self.folder / TRIAL_FILE).read_bytes() != written(self.trial):
                yield Fault(TRIAL_FILE, "was altered")
        except OSError as error:  # it has gone since it was read
            yield Fault(TRIAL_FILE, f"cannot be read: {_reason(error)}")

    def _altered(self, known: Mapping[str, str]) -> Iterator[Fault]:
        out = self.folder / "out"
        belong: set[Path | None] = set()
        for name, output in self.outputs.items():
            belong.add(out / name)
            try:
                plain, place = self.forms(name)
                belong.add(place)
                if not (plain or place):
                    yield Fault(f"out/{name}", "is missing")
                elif plain and digest(plain, known.get(f"out/{name}")) != output:
                    yield Fault(f"out/{name}", "was altered")
                if place:
                    packed.check(place, output)
            except PackedError as error:
                yield Fault(f"out/{name}{packed.SUFFIX}", str(error))
            except OSError as error:
                yield Fault(f"out/{name}", f"cannot be read: {_reason(error)}")
        present = {path for path in out.rglob("*") if path.is_file()}
        names = sorted(path.relative_to(out).as_posix() for path in present - belong)
        yield from (Fault(f"out/{name}", "does not belong") for name in names)

    @contextmanager
    def _damaged(self, place: Path) -> Iterator[None]:
        """Turn what is wrong with a packed output into a RecordError."""
        try:
            yield
        except PackedError as error:
            raise RecordError(f"{self.folder} is damaged: {place.relative_to(self.folder)} {error}") from error

    def _load(self, name: str, kind: type[_T]) -> _T:
        try:
            return from_plain(msgspec.json.decode((self.folder / name).read_bytes()), kind)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"{self.folder} is damaged: {name}: {_reason(error)}") from error


def written(value: Any) -> bytes:
    """Return the JSON text in which a record's own files say `value`."""
    return msgspec.json.format(canonical(value), indent=1) + b"\n"


def digest(path: Path, known: str | None = None) -> Output:
    """Return the hash and size of one file, which is not read where its hash is `known`."""
    with path.open("rb") as file:
        return Output(known or hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def _is_there(path: Path) -> bool:
    with suppress(OSError):  # its name is too long, say
        return path.is_file()
    return False


def _is_inside(name: str) -> bool:
    """Say whether a name leads to a file of the folder that it is in."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
