"""Collect the files that a Mininet script uses: the local modules that it imports, and the files that it names."""

from __future__ import annotations

import ast
import io
import os
import re
import tarfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.base import foreign
from lab.errors import InputError

MOST_FILES = 10_000  # in the script's folder, and below it
MOST_BYTES = 4 << 20  # of one file
TEXTS = frozenset({".py", ".sh", ".mn", ""})  # the suffixes of files that may name other files
_PYTHON_2 = re.compile(rb"^\s*(?:print +[^(=\s]|except \w+ *, *\w+:|exec +['\"])", re.MULTILINE)


@dataclass(frozen=True)
class PackedScript:
    """Holds a script with its files, in the form that a guest receives."""

    name: str  # the script's path below the folder
    archive: bytes  # an uncompressed tar file; the same files give the same bytes
    files: tuple[str, ...]  # paths below the folder


def pack(script: Path) -> PackedScript:
    """Return a script with the files of its folder that it imports or names, directly or through other such files.

    Raises InputError for a script that cannot be read or is Python 2.
    """
    if not script.is_file():
        raise InputError(f"{script}: there is no such script")
    folder = script.resolve().parent
    beside = dict(_beside(folder))
    found: dict[str, bytes] = {}
    left = [script.name]
    while left:
        name = left.pop()
        found[name] = content = _content(folder / name)
        if Path(name).suffix in TEXTS or content.startswith(b"#!"):
            named = {path for word in _words(content) for path in beside.get(word, ())}
            fresh = sorted(named - found.keys() - {*left})
            left += fresh
    check(script, found[script.name])
    return PackedScript(script.name, _archive(found), tuple(sorted(found)))


def check(script: Path, content: bytes) -> None:
    """Raise InputError for a script of Python 2, at its first line that Python 3 cannot read."""
    if script.suffix != ".py":
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(content)
    except (SyntaxError, ValueError) as error:
        if _PYTHON_2.search(content):
            where = f"{script}:{getattr(error, 'lineno', 1)}"
            raise InputError(f"{where}: this is Python 2, and Mininet needs Python 3; `2to3 -w` converts it") from None


def _beside(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield (word, paths) for all files of a folder, below `folder`: a module's name, or a file's name."""
    words: dict[str, list[str]] = {}
    seen = 0
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each != "__pycache__")
        for name in sorted(files):
            seen += 1
            if seen > MOST_FILES:
                raise InputError(
                    f"{folder} has more than {MOST_FILES:,} files: put the script into a folder of its own"
                )
            path = Path(root, name)
            if path.is_file() and not path.is_symlink() and not name.startswith("."):
                relative = str(path.relative_to(folder))
                words.setdefault(name, []).append(relative)
                if path.suffix == ".py":
                    word = path.parent.name if name == "__init__.py" else path.stem
                    words.setdefault(word, []).append(relative)
    yield from words.items()


def _words(content: bytes) -> set[str]:
    """Return the words of a text, and the names of files in it."""
    return {word for pattern in (r"\w+", r"[\w.+-]+") for word in re.findall(pattern, content.decode(errors="replace"))}


def _content(file: Path) -> bytes:
    try:
        return foreign.read(file, MOST_BYTES)
    except foreign.Unfit as error:
        raise InputError(f"{file}: this is {error}, which a guest does not get") from None
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None


def _archive(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()
