"""Collect the files that a Mininet script uses: the local modules that it imports, and the files that it names."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lab.base import foreign
from lab.base.archive import pack_programs
from lab.errors import InputError
from lab.spec.errors import no_file

MOST_FILES = 1000  # in a folder that a script names, and below it
MOST_BYTES = 4 << 20  # of one file
LONGEST = 255  # characters of a word that may name a file
_EXPERIMENT = re.compile(rb"^EXPERIMENT\b", re.MULTILINE)
_PYTHON_2 = re.compile(rb"^\s*(?:print +[^(=\s]|except \w+ *, *\w+:|exec +['\"])", re.MULTILINE)
_BETWEEN = re.compile(r"[\s'\"=;&|<>(){}`$,]+")  # separates the words of a command


@dataclass(frozen=True)
class PackedScript:
    """Holds a script and the files that it uses, in the form for a guest."""

    name: str  # the script's path below the folder, or a program of the userland
    start: tuple[str, ...]  # the command that starts it, without its arguments
    contents: Mapping[str, bytes]  # by path below the folder

    @property
    def files(self) -> tuple[str, ...]:
        """Return the paths of the files, below the folder. The script is among them."""
        return tuple(sorted(self.contents))

    @cached_property
    def archive(self) -> bytes:
        """Return an uncompressed tar file. The same files give the same bytes."""
        return pack_programs(self.contents)


def pack(script: Path, without: Collection[Path] = ()) -> PackedScript:
    """Return a script with the files of its folder that it imports or names, directly or through such files.

    Files below the folders `without` are left out: a store, and the outputs of earlier runs. Raises InputError for a
    script of Python 2, a YAML file, and a file that cannot be read or is too large.
    """
    if not script.is_file():
        raise InputError(no_file(script))
    found = _gathered(script, without)
    return PackedScript(script.name, (_interpreter(script.name, found[script.name]), script.name), found)


def pack_program(name: str, files: Sequence[Path]) -> PackedScript:
    """Return a program of the userland with `files` and what they use. The program gets each file by its last name.

    Raises InputError if two different files have the same name, and the errors of `pack`.
    """
    found: dict[str, bytes] = {}
    for file in files:
        if not file.is_file():
            raise InputError(no_file(file))
        for path, content in _gathered(file, ()).items():
            if found.setdefault(path, content) != content:
                raise InputError(f"{file}: another file has the name {path}, too; rename one of them")
    return PackedScript(name, (name,), found)


def _gathered(script: Path, without: Collection[Path]) -> dict[str, bytes]:
    """Return a script and the files that it uses, by path below its folder."""
    folder = script.resolve().parent
    apart = {path.resolve() for path in without}
    found: dict[str, bytes] = {}
    left = [(script.name, script.name)]  # each file, and the file that names it
    while left:
        name, by = left.pop()
        if name in found:
            continue
        found[name] = content = _content(folder / name, by)
        left += [(path, name) for path in _used(folder, name, content, apart)]
    check(script, found[script.name])
    return found


def _interpreter(name: str, content: bytes) -> str:
    """Return the program that runs a script: a shell if the script names one, else Python."""
    words = content.split(b"\n", 1)[0][2:].split() if content.startswith(b"#!") else []
    return "bash" if name.endswith(".sh") or any(word.endswith(b"sh") for word in words) else "python3"


def check(script: Path, content: bytes) -> None:
    """Raise InputError for YAML, for an experiment, and for Python 2, at its first line that Python 3 cannot read."""
    if script.suffix in (".yml", ".yaml"):
        ours = f"`lab mn {script}` opens a topology of the lab"
        raise InputError(f"{script} is not a script; `lab import {script}` reads a containerlab file, and {ours}")
    if script.suffix != ".py":
        return
    if _EXPERIMENT.search(content):
        raise InputError(f"{script} is an experiment, not a Mininet script; `lab run {script}` runs it")
    try:
        _parsed(content)
    except (SyntaxError, ValueError) as error:
        if _PYTHON_2.search(content):
            where = f"{script}:{getattr(error, 'lineno', 1)}"
            raise InputError(f"{where}: this is Python 2, and Mininet needs Python 3; `2to3 -w` converts it") from None


def _parsed(content: bytes) -> ast.Module:
    with warnings.catch_warnings(action="ignore"):
        return ast.parse(content)


def _used(folder: Path, name: str, content: bytes, apart: Collection[Path]) -> Iterator[str]:
    """Yield the paths of the files that one file imports or names. Only programs name files."""
    if name.endswith(".py"):
        try:
            tree = _parsed(content)
        except (SyntaxError, ValueError):
            return  # the guest's Python shows the line
        yield from _imported(folder, Path(name).parent, tree, apart)
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
    elif content.startswith(b"#!") or name.endswith(".sh"):
        texts = [content.decode(errors="replace")]
    else:
        return
    for word in dict.fromkeys(word for text in texts for word in _BETWEEN.split(text)):
        yield from _named(folder, word, apart)


def _imported(folder: Path, place: Path, tree: ast.Module, apart: Collection[Path]) -> Iterator[str]:
    """Yield the files of the local modules that a file below the folder `place` imports."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{each.name}".strip(".") for each in node.names)]
        for name in filter(None, names):
            parts = name.split(".")
            for root in {Path(), place}:
                packages = [root.joinpath(*parts[:depth], "__init__.py") for depth in range(1, len(parts) + 1)]
                for path in (*packages, root.joinpath(*parts).with_suffix(".py")):
                    if _is_own(folder / path, apart):
                        yield str(path)


def _named(folder: Path, word: str, apart: Collection[Path]) -> Iterator[str]:
    """Yield the file that a word names, or all files of the folder that it names."""
    parts = Path(word).parts
    if not parts or len(word) > LONGEST or word.startswith("/") or ".." in parts or "\0" in word:
        return
    path = folder / word
    if _is_own(path, apart):
        yield str(path.relative_to(folder))
    elif path.is_dir() and not _is_apart(path, apart):
        for count, each in enumerate(_below(path, apart)):
            if count == MOST_FILES:
                raise InputError(f"{path} has more than {MOST_FILES:,} files, and the script names it")
            yield str(each.relative_to(folder))


def _below(folder: Path, apart: Collection[Path]) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not _is_apart(Path(root, each), apart))
        yield from (Path(root, name) for name in sorted(files) if _is_own(Path(root, name), apart))


def _is_own(path: Path, apart: Collection[Path]) -> bool:
    """Return whether this is a regular file that a guest may get."""
    return (
        path.is_file() and not path.is_symlink() and not any(_is_apart(each, apart) for each in (path, *path.parents))
    )


def _is_apart(path: Path, apart: Collection[Path]) -> bool:
    return path in apart or path.name == "__pycache__" or (path / "pyvenv.cfg").exists()


def _content(file: Path, by: str) -> bytes:
    try:
        return foreign.read(file, MOST_BYTES)
    except foreign.Unfit as error:
        raise InputError(f"{file}, which {by} names, is {error}: a guest cannot get it") from None
    except OSError as error:
        raise InputError(f"{file}, which {by} names: {error.strerror}") from None
