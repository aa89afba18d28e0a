"""Read history.yaml, which lists later changes to an article's registered claims, with the dates and the reasons.

The claims are frozen with the article. A person who changes a reading, a figure, a metric or a tolerance later may have
seen measurements, so the page shows the change next to the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.spec import document
from lab.spec.document import Document
from lab.spec.errors import Problem, SpecError, suggestion

FILE = "history.yaml"
_ENTRY, _MOVE = ("date", "change", "why", "moves"), ("what", "was", "now")


@dataclass(frozen=True)
class Move:
    """Records that a registered item changed from one value to another. None means that there was no value."""

    what: str  # its name in the register: 'arm defaults: tolerance'
    was: str | None
    now: str | None


@dataclass(frozen=True)
class Entry:
    """Describes one change to a registered claim."""

    date: str
    change: str
    why: str
    moves: tuple[Move, ...] = ()


def load(folder: Path) -> Mapping[str, tuple[Entry, ...]]:
    """Return the changes of each claim, the earliest first, or {} if there is no file.

    Raises SpecError for mistakes in the file.
    """
    path = folder / FILE
    if not path.exists():
        return {}
    read = document.read(path)
    problems: list[Problem] = []
    found = {claim: _entries(read, claim, problems) for claim in read.data}
    if problems:
        raise SpecError(problems)
    return found


def _entries(read: Document, claim: str, problems: list[Problem]) -> tuple[Entry, ...]:
    listed = read.data[claim]
    if not isinstance(listed, list):
        problems.append(read.problem((claim,), f"{claim}: should be a list of changes"))
        return ()
    entries = []
    for index, given in enumerate(listed):
        place = (claim, index)
        wrong = _mistakes(given, _ENTRY, optional=("moves",))
        moves = given.get("moves") or [] if isinstance(given, Mapping) else []
        wrong += [f"moves: {message}" for move in moves for message in _mistakes(move, _MOVE, optional=("was", "now"))]
        problems += [read.problem(place, f"{claim}: {message}") for message in wrong]
        if not wrong:
            said = tuple(Move(str(each["what"]), _text(each.get("was")), _text(each.get("now"))) for each in moves)
            entries.append(Entry(str(given["date"]), str(given["change"]).strip(), str(given["why"]).strip(), said))
    dates = [entry.date for entry in entries]
    if dates != sorted(dates):
        problems.append(read.problem((claim,), f"{claim}: the changes should be in the order of their dates"))
    return tuple(entries)


def _mistakes(given: object, known: tuple[str, ...], optional: tuple[str, ...]) -> list[str]:
    if not isinstance(given, Mapping):
        return [f"should have the keys {', '.join(known)}"]
    missing = [f"missing: {key}" for key in known if key not in optional and not str(given.get(key) or "").strip()]
    return missing + [f"{key}: unknown key{suggestion(key, known)}" for key in given if key not in known]


def _text(value: object) -> str | None:
    return None if value is None else str(value)
