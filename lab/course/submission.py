"""Read what students handed in: the answers that their notebooks' cells have as output. Nothing of theirs is executed.

A notebook is untrusted: its code could do anything on the machine of whoever grades it, or never end. So an answer
counts only once its cell has run, in the student's own hands, and the notebook was saved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.report.stored import ANSWER

__all__ = ["HandedIn", "handed_in"]

_LARGEST = 20_000_000  # bytes of a notebook: one with all its figures has a tenth of that
_LONGEST = 500  # characters of a text that is shown
_OPENED = re.compile(r"""\blab\.exercise\(\s*["']([\w.-]{1,80})["']""")
_HIDDEN = re.compile(r"(^|/)\.")


@dataclass(frozen=True)
class HandedIn:
    """Holds one notebook of a submission: the exercise that it is of, and step -> answer; or why it cannot be read."""

    submission: str
    file: str
    exercise: str = ""
    answers: Mapping[str, object] = field(default_factory=dict)
    unanswered: Mapping[str, str] = field(default_factory=dict)  # step -> what stands in the way of its answer
    problem: str = ""


def handed_in(submission: Path, known: Collection[str]) -> Iterator[HandedIn]:
    """Yield each notebook of a submission, a file or a folder of them. `known` are the exercises' names.

    Raises InputError when there is no such file or folder.
    """
    if submission.is_dir():
        found = sorted(path for path in submission.rglob("*.ipynb") if not _is_hidden(path, submission))
        if not found:
            yield HandedIn(
                printable(str(submission)),
                printable(str(submission)),
                problem="there is no notebook (.ipynb) in this folder",
            )
        for path in found:
            yield _read(printable(str(submission)), path, known)
    elif submission.exists():
        yield _read(printable(str(submission)), submission, known)
    else:
        raise InputError(f"{submission}: there is no such file or folder")


def _is_hidden(path: Path, folder: Path) -> bool:
    return bool(_HIDDEN.search(path.relative_to(folder).as_posix()))


def _read(submission: str, path: Path, known: Collection[str]) -> HandedIn:
    try:
        if not path.is_file():
            raise ValueError("it is no file")
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST // 10**6} MB")
        cells = list(_cells(json.loads(path.read_text(encoding="utf-8"))))
    except OSError as error:
        return HandedIn(submission, printable(str(path)), problem=f"cannot be read: {error.strerror or error}")
    except RecursionError:
        return HandedIn(submission, printable(str(path)), problem="not a notebook: nested too deep")
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        return HandedIn(submission, printable(str(path)), problem=f"not a notebook: {printable(str(error))}")
    payloads = [payload for cell in cells for payload in cell.payloads]
    exercise = _exercise(path, [each["exercise"] for each in payloads], cells, known)
    if not exercise:
        return HandedIn(submission, printable(str(path)), problem=f"it is of no exercise; there is {', '.join(known)}")
    answers = {each["step"]: each["answer"] for each in payloads if each["exercise"] == exercise}
    unanswered = {step: cell.state for cell in cells for step in cell.steps if step not in answers and cell.state}
    return HandedIn(submission, printable(str(path)), exercise, answers, unanswered)


def _exercise(path: Path, named: list[str], cells: list[_Cell], known: Collection[str]) -> str:
    """Return which exercise a notebook is of, by its answers, by what it opens, or by its file's name."""
    opened = [name for cell in cells for name in _OPENED.findall(cell.source)]
    return next((name for name in [*reversed(named), *opened, path.stem] if name in known), "")


@dataclass(frozen=True)
class _Cell:
    source: str
    payloads: tuple[Mapping[str, Any], ...]
    error: str  # what its last run ended with
    was_run: bool

    @property
    def steps(self) -> list[str]:
        """Return the steps that its code asks for, by the look of it."""
        return re.findall(r"""\.say\(\s*["']([\w.-]{1,80})["']""", self.source)

    @property
    def state(self) -> str:
        """Say why there is no answer though somebody was here; "" where nobody was."""
        if self.error:
            return f"its cell ended with {self.error}"
        blank = re.search(r""",\s*\.\.\.\s*\)""", self.source)
        return "" if self.was_run or blank else "its cell was changed, but not run, or never ended: run it, and save"


def _cells(notebook: Any) -> Iterator[_Cell]:
    """Yield the code cells. Raises ValueError where the form is not that of a notebook."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no list of cells")
    for cell in cells:
        if not isinstance(cell, dict):
            raise ValueError("a cell is no mapping")
        if cell.get("cell_type") == "code":
            outputs = cell.get("outputs")
            shown = [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
            error = next(
                (printable(str(each.get("ename", ""))) for each in shown if each.get("output_type") == "error"), ""
            )
            payloads = tuple(filter(None, map(_payload, shown)))
            yield _Cell(_text(cell.get("source")), payloads, error, isinstance(cell.get("execution_count"), int))


def _payload(output: Mapping[str, Any]) -> Mapping[str, Any] | None:
    data = output.get("data")
    found = data.get(ANSWER) if isinstance(data, dict) else None
    if not isinstance(found, dict) or "answer" not in found:
        return None
    if not all(isinstance(found.get(key), str) for key in ("exercise", "step")):
        return None
    answer = found["answer"]
    if isinstance(answer, str) or not isinstance(answer, int | float):
        answer = printable(answer if isinstance(answer, str) else f"a {type(answer).__name__}")
    return {**found, "answer": answer}


def printable(text: str) -> str:
    """Return a text of others as a terminal, a table or XML can show it: neither long nor with signs that act."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text[:_LONGEST])


def _text(source: object) -> str:
    """Return a cell's source, which a notebook keeps as a text or as its lines."""
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
