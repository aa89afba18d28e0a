"""Report the mistakes in a user's file, with their lines."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.errors import InputError


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """Describes one mistake."""

    file: str  # as the user would type it
    line: int  # from 1
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class SpecError(InputError):
    """Raised for mistakes in topologies and experiments. The error holds all mistakes, sorted by file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(map(str, self.problems)))


def display(path: Path) -> str:
    """Return `path` relative to the current directory if the path is inside, else the absolute path."""
    path = path.absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ', did you mean ...?' if `known` has a word like `word`, else ''."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f", did you mean '{close[0]}'?" if close else ""
