"""Compress large outputs in a store to save space, and decompress them. A record's hashes are equal in both forms."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lab.base.building import Progress, terminable
from lab.ext.upkeep import disk
from lab.record import packed
from lab.record.packed import Output, PackedError
from lab.record.record import Record, RecordError, digest
from lab.record.store import Store

Form = Literal["packed", "plain"]
SUFFIXES = (".pcap", ".bin")  # of outputs that compress well: captures, samples of tcp_info
LARGE = 64 << 10  # bytes: all smaller outputs together are a thousandth of a store


@dataclass(frozen=True)
class Repacked:
    """Counts the files whose form changed, their disk space before and after, and the files that did not change."""

    store: Path
    form: Form
    files: int
    before: int
    after: int
    elsewhere: int  # files that a different store has, too, so that packing them would free nothing
    refused: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Return 1 if a file was refused, else 0."""
        return int(bool(self.refused))

    def plain(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON."""
        return {
            "store": str(self.store),
            "form": self.form,
            "files": self.files,
            "before": self.before,
            "after": self.after,
            "elsewhere": self.elsewhere,
            "refused": list(self.refused),
        }


@dataclass(frozen=True)
class _File:
    """Holds one output file under all its names in the store's records."""

    wanted: Output
    status: os.stat_result
    names: Mapping[Path, Path]  # each name -> the name in the other form

    @property
    def old(self) -> Path:
        """Return a current name of the file."""
        return next(iter(self.names))

    @property
    def new(self) -> Path:
        """Return a name of the file in the other form."""
        return self.names[self.old]


def exchange(store: Store, chosen: Callable[[Record], object], form: Form, progress: Progress) -> Repacked:
    """Convert the large captures and samples of the chosen records to `form`.

    A file that several records share is converted in all these records. A file that differs from the trial's output is
    refused and not modified. Raises StoreInUse while a command uses the store, and MachineError if the disk is full.
    """
    done: list[_File] = []
    after, refused = 0, []
    with terminable(), store.alone():
        found = _files(store, chosen, form)
        own = [file for file in found if form == "plain" or file.status.st_nlink == len(file.names)]
        progress.say("packing" if form == "packed" else "unpacking")
        for number, file in enumerate(own, 1):
            try:
                _exchange(store, file, form)
            except PackedError as error:
                refused.append(f"{file.old} {error}")
            except OSError as error:
                refused.append(f"{file.old} cannot be read or written: {error.strerror or error}")
            else:
                done.append(file)
                after += disk.taken(file.new.stat())
            progress.step(number, len(own))
    before = sum(disk.taken(file.status) for file in done)
    return Repacked(store.root, form, len(done), before, after, len(found) - len(own), tuple(refused))


def _files(store: Store, chosen: Callable[[Record], object], form: Form) -> Sequence[_File]:
    """Return the files of chosen records that do not have this form yet."""
    found: dict[tuple[int, int, Output], _File] = {}
    wanted = set()
    for record in store:
        with suppress(RecordError, OSError):  # `lab store fsck` reports it
            is_chosen = chosen(record)
            for output, old, new in _outputs(record, form):
                status = old.stat()
                key = status.st_dev, status.st_ino, output
                names = found[key].names if key in found else {}
                found[key] = _File(output, status, {**names, old: new})
                if is_chosen:
                    wanted.add(key)
    return [file for key, file in found.items() if key in wanted]


def _outputs(record: Record, form: Form) -> Iterator[tuple[Output, Path, Path]]:
    """Yield the outputs of a record that can be converted, each with its current and its future path."""
    for name, output in record.outputs.items():
        lies, place = record.forms(name)
        plain = record.folder / "out" / name
        if form == "plain" and place:
            yield output, place, plain
        elif form == "packed" and lies and _is_bulky(name, record.outputs):
            yield output, plain, packed.form(plain)


def _is_bulky(name: str, outputs: Mapping[str, Output]) -> bool:
    """Return whether packing an output is worthwhile, and whether the name of the packed form is free."""
    return name.endswith(SUFFIXES) and outputs[name].bytes >= LARGE and f"{name}{packed.SUFFIX}" not in outputs


def _exchange(store: Store, file: _File, form: Form) -> None:
    """Convert a file to `form` under all its names. Raises PackedError and MachineError."""
    with store.scratch() as scratch:
        fresh = next((new for new in file.names.values() if _is_whole(new, file.wanted, form)), None)
        if fresh is None:  # else an earlier `lab store pack` that was killed made it
            fresh = scratch / "fresh"
            if form == "packed":
                packed.pack(file.old, fresh)
                packed.check(fresh, file.wanted)  # read it again before the old file is removed
            else:
                packed.unpack(file.old, fresh, file.wanted)
            shutil.copystat(file.old, fresh)
        store.exchange(fresh, file.names)


def _is_whole(new: Path, wanted: Output, form: Form) -> bool:
    if not new.is_file():
        return False
    if form == "plain":
        return digest(new) == wanted
    with suppress(PackedError):
        packed.check(new, wanted)
        return True
    return False
