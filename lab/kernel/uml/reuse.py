"""Take the objects of a plain kernel that do not differ in a variant of it, by HZ or an option say, without compiling.

HZ is in the list of what each object is made from, so make compiles all of a kernel with another HZ again, and ccache
finds none. Two thirds of them come out the same. Which ones is known beforehand: those whose files are the same, and
mention nothing that the change affects (lab.kernel.uml.affected). They are put where make looks for them, with the
lists of what they are made from, so that make still compiles what is older than its own prerequisites.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lab.building import forget
from lab.kernel.uml import precompiled
from lab.kernel.uml.affected import Affected, Unclear, Unit, changed, units, whole
from lab.moving import move

__all__ = ["FOLDER", "keep", "take"]

FOLDER = "objects"  # in the cache
SHARED, FILES = "shared.i", "files.json"
_SOURCE = re.compile(r"^source_\S+ := (\S+\.c)$", re.MULTILINE)
_MADE_FROM = re.compile(r"^deps_\S+ := (.*?)\n\n", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"\$\(wildcard [^)]*\)|\\(?=\s|$)")


@dataclass(frozen=True, slots=True)
class _Object:
    """Name an object, its source, and the other files that it alone is made from, from the tree's top."""

    name: str
    source: str
    others: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        return (self.source, *self.others)

    @property
    def listing(self) -> str:
        """The file in which kbuild keeps how it was made."""
        return _listing(self.name)


def keep(tree: Path, shared: str, place: Path, home: Path, kernel: str) -> None:
    """Move the objects of a built kernel out of its tree, for variants of the kernel with this id.

    `shared` is the preprocessed text of the headers that they start from, `place` a new folder to collect them in.
    Where the disk is full, say, none are kept: variants take longer then.
    """
    kept = home / FOLDER / kernel
    try:
        place.mkdir()
        _collect(tree, shared, place)
        kept.parent.mkdir(exist_ok=True)
        shutil.rmtree(kept, ignore_errors=True)
        move(place, kept)
        forget(each for each in kept.parent.iterdir() if each != kept)
    except OSError:
        shutil.rmtree(place, ignore_errors=True)


def take(tree: Path, shared: str, home: Path, kernel: str) -> int:
    """Put those objects of the kernel with this id into a tree that is prepared to build a variant; return how many.

    None where nothing was kept, or where nobody can say what the change affects. Raises OSError.
    """
    kept = home / FOLDER / kernel
    try:
        digests = json.loads((kept / FILES).read_bytes())
        before, after = units((kept / SHARED).read_text(encoding="utf-8")), units(shared)
        names = Affected(changed(before, after)).spread({*before, *after})
    except (FileNotFoundError, ValueError):  # ValueError: Unclear, or a file that a full disk cut
        return 0
    os.utime(kept)
    files = _Files(tree, digests)
    whole_ones = (each for each in _objects(kept) if _digest(kept / each.name) == digests.get(each.name))
    taken = [each for each in whole_ones if files.leave(each, names)]
    for each in taken:
        (tree / each.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept / each.listing, tree / each.listing)
        shutil.copyfile(kept / each.name, tree / each.name)
    return len(taken)


class _Files:
    """Look at each file of a tree once."""

    def __init__(self, tree: Path, digests: Mapping[str, str]) -> None:
        self._tree, self._digests = tree, digests
        self._read: dict[str, _File] = {}

    def leave(self, wanted: _Object, names: Affected) -> bool:
        """Tell whether an object is what it was, when its own files are, and these names mean something else."""
        if not all(self._same(name) for name in wanted.files):
            return False
        source = self._file(wanted.source)
        others = [self._file(name) for name in wanted.others]
        names = names.pasting([source.whole, *(each.whole for each in others)])
        near: list[_File] = []
        with suppress(Unclear):
            while more := [each for each in others if each not in near and names.mentioned(each.whole)]:
                near += more
                names = names.spread(unit for each in near for unit in each.units)
            return not names.mentioned(source.whole) and "incbin" not in source.text  # of a file that is in no list
        return False

    def _same(self, name: str) -> bool:
        return self._digests.get(name) == self._file(name).digest

    def _file(self, name: str) -> _File:
        if name not in self._read:
            self._read[name] = _File(self._tree / name)
        return self._read[name]


class _File:
    """Hold a file of a tree; its parts are found when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def digest(self) -> str:
        try:
            return _digest(self._path)
        except FileNotFoundError:
            return "it is made later"

    @cached_property
    def text(self) -> str:
        return self._path.read_text(encoding="latin-1")

    @cached_property
    def units(self) -> Sequence[Unit]:
        return units(self.text)

    @cached_property
    def whole(self) -> Unit:
        return whole(self.units)


def _collect(tree: Path, shared: str, place: Path) -> None:
    objects = list(_objects(tree))
    for each in objects:
        for name in (each.name, each.listing):
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (tree / name).rename(target)
    files = sorted({name for each in objects for name in each.files})
    digests = {name: _digest(tree / name) for name in files} | {
        each.name: _digest(place / each.name) for each in objects
    }
    (place / FILES).write_text(json.dumps(digests), encoding="utf-8")
    (place / SHARED).write_text(shared, encoding="utf-8")


def _objects(tree: Path) -> Iterator[_Object]:
    """Yield the objects below a folder that were made from one source in C and the shared headers."""
    for folder, _, names in os.walk(tree):
        for name in sorted(names):
            if not (name.endswith(".o") and _listing(name) in names):
                continue
            path = str((Path(folder) / name).relative_to(tree))
            listing = (tree / _listing(path)).read_text(encoding="utf-8", errors="surrogateescape")
            source, made_from = _SOURCE.search(listing), _MADE_FROM.search(listing)
            others = _OPTION.sub(" ", made_from[1]).split() if made_from else []
            if source and precompiled.STAMP in others:
                yield _Object(path, source[1], tuple(each for each in others if each != precompiled.STAMP))


def _listing(name: str) -> str:
    folder, _, file = name.rpartition("/")
    return f"{folder}/.{file}.cmd" if folder else f".{file}.cmd"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
