"""Report the mistakes in a user's file, with their lines."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.base import foreign
from lab.errors import InputError
from lab.spec.quoted import UNITS, unit_meant
from lab.units import UnitError

_IS_FOLDER = "this is a folder; name a file"
_MOST_BYTES = 64 << 20  # of a file; the topology of 10,000 hosts has some MiB
_MOST_MEANT = 3  # names in a suggestion
_ALIKE = 0.75  # of the names of files, which often have the same ending
_ADVICE = re.compile(r": (?=(?:add|at most|call it|give|install|name|see|use|write)\b)")


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """Describes one mistake."""

    file: str  # as the user would type it
    line: int  # from 1
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"

    def plain(self) -> dict[str, str | int]:
        """Return the mistake as plain data for JSON."""
        return {"file": self.file, "line": self.line, "message": self.message}


class SpecError(InputError):
    """Raised for mistakes in topologies and experiments. The error holds all mistakes, sorted by file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(map(str, self.problems)))


def display(path: Path) -> str:
    """Return `path` relative to the current directory if the path is inside, else the absolute path."""
    path = path.absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def told(error: Exception) -> str:
    """Return the message of an error of `lab.units` or `lab.guest`, with a semicolon before the advice, and with the
    unit that an unknown unit means.

    These two rooms have a colon there, because any change of a message would change the addresses of all trials.
    """
    text = _ADVICE.sub("; ", str(error))
    if isinstance(error, UnitError) and error.unit:
        text += unit_meant(error.unit) or instead(error.unit, UNITS, _ALIKE)
    return f"{text}; use 0 or more" if text.endswith(" is negative") else text


def suggestion(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return '; did you mean ...?' if `known` has a word like `word`, else ''.

    The last part of a name suffices: 'dsl' means 'mine/dsl'. `likeness` is the least share of equal letters, as in
    difflib.
    """
    names = list(dict.fromkeys(known))
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(name.rpartition("/")[2], []).append(name)
    close = difflib.get_close_matches(word, [*names, *parts], cutoff=likeness)
    if not close:
        return ""
    closest = max(close, key=lambda each: (_likeness(each, word), each[0] == word[0]))
    meant = [closest] if closest in names else parts[closest][:_MOST_MEANT]
    return f"; did you mean {' or '.join(repr(name) for name in meant)}?"


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def instead(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the end of a message about an unknown word: the suggestion, else all known words; '' without any."""
    names = list(dict.fromkeys(known))
    return suggestion(word, names, likeness) or (f"; use {', '.join(names)}" if names else "")


def no_file(path: Path) -> str:
    """Return a message about a path that is not a file, with a similar name from its folder."""
    return f"{path}: {_IS_FOLDER if path.is_dir() else _absent(path)}"


def file_bytes(path: Path) -> bytes:
    """Return the contents of a user's file.

    Raises OSError if the file cannot be read, is a pipe or a device, which may have no end, or has more than 64 MiB.
    """
    if path.is_dir():
        raise IsADirectoryError
    try:
        return foreign.read(path.resolve(), _MOST_BYTES)
    except foreign.Unfit as error:
        raise OSError(errno.EINVAL, f"it {'has' if path.is_file() else 'is'} {error}") from error
    except RuntimeError:  # from resolve(), until Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def unreadable(path: Path, error: OSError) -> str:
    """Return why a file cannot be read, as a message, with a similar name from its folder if the file is missing."""
    if isinstance(error, IsADirectoryError):
        return _IS_FOLDER
    return f"cannot be read: {_absent(path) if isinstance(error, FileNotFoundError) else error.strerror}"


def _absent(path: Path) -> str:
    try:
        beside = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {display(path.parent)}"
    return f"no such file{suggestion(path.name, beside, _ALIKE)}"
