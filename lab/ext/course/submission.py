"""Read the answers in the outputs of students' notebooks. No code of a submission is executed.

Notebooks are untrusted: their code could do any damage on the grader's machine, or never end. So an answer is graded
only if the student has run its cell and saved the notebook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.base import foreign
from lab.errors import InputError
from lab.report.stored import ANSWER
from lab.spec.errors import no_file

_LARGEST = 20_000_000  # bytes: a notebook with all its figures has a tenth of that
_LONGEST = 500  # the most characters of a shown text
_ONE_LINE = dict.fromkeys(map(ord, "\n\t"), "\N{REPLACEMENT CHARACTER}")
_OPENED = re.compile(r"""\blab\.exercise\(\s*["']([\w.-]{1,80})["']""")
_HIDDEN = re.compile(r"(^|/)\.")


@dataclass(frozen=True)
class HandedIn:
    """Holds one notebook of a submission: its exercise and its answers by step, or why the notebook is unreadable."""

    submission: str
    file: str
    exercise: str = ""
    answers: Mapping[str, object] = field(default_factory=dict)
    unanswered: Mapping[str, str] = field(default_factory=dict)  # step -> why there is no answer
    problem: str = ""


def handed_in(submission: Path, known: Collection[str]) -> Iterator[HandedIn]:
    """Yield each notebook of a submission, which is a file or a folder. `known` holds the exercise names.

    Raises InputError if the file or folder does not exist.
    """
    if submission.is_dir():
        found = sorted(path for path in submission.rglob("*.ipynb") if not _is_hidden(path, submission))
        if not found:
            yield HandedIn(
                _printable(str(submission)),
                _printable(str(submission)),
                problem="there is no notebook (.ipynb) in this folder",
            )
        for path in found:
            yield _read(_printable(str(submission)), path, known)
    elif submission.exists():
        yield _read(_printable(str(submission)), submission, known)
    else:
        raise InputError(no_file(submission))


def _is_hidden(path: Path, folder: Path) -> bool:
    return bool(_HIDDEN.search(path.relative_to(folder).as_posix()))


def _read(submission: str, path: Path, known: Collection[str]) -> HandedIn:
    try:
        if not path.is_file():
            raise ValueError("it is not a file")
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST // 10**6} MB")
        cells = list(_cells(json.loads(path.read_text(encoding="utf-8"))))
    except OSError as error:
        return HandedIn(submission, _printable(str(path)), problem=f"cannot be read: {error.strerror or error}")
    except RecursionError:
        return HandedIn(submission, _printable(str(path)), problem="not a notebook: nested too deep")
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        return HandedIn(submission, _printable(str(path)), problem=f"not a notebook: {_printable(str(error))}")
    payloads = [payload for cell in cells for payload in cell.payloads]
    exercise = _exercise(path, [each["exercise"] for each in payloads], cells, known)
    if not exercise:
        return HandedIn(
            submission,
            _printable(str(path)),
            problem=f"it belongs to no exercise; the exercises are {', '.join(known)}",
        )
    answers = {each["step"]: each["answer"] for each in payloads if each["exercise"] == exercise}
    unanswered = {step: cell.state for cell in cells for step in cell.steps if step not in answers and cell.state}
    return HandedIn(submission, _printable(str(path)), exercise, answers, unanswered)


def _exercise(path: Path, named: list[str], cells: list[_Cell], known: Collection[str]) -> str:
    """Return a notebook's exercise, from its answers, else from the code that opens an exercise, else from the file
    name.
    """
    opened = [name for cell in cells for name in _OPENED.findall(cell.source)]
    return next((name for name in [*reversed(named), *opened, path.stem] if name in known), "")


@dataclass(frozen=True)
class _Cell:
    source: str
    payloads: tuple[Mapping[str, Any], ...]
    error: str  # the error of its last run
    was_run: bool

    @property
    def steps(self) -> list[str]:
        """Return the steps that the cell's code appears to answer."""
        return re.findall(r"""\.say\(\s*["']([\w.-]{1,80})["']""", self.source)

    @property
    def state(self) -> str:
        """Return the reason why an executed cell has no answer, or "" for a cell that was not executed."""
        if self.error:
            return f"its cell ended with {self.error}"
        blank = re.search(r""",\s*\.\.\.\s*\)""", self.source)
        return "" if self.was_run or blank else "its cell was changed, but not run, or never ended; run it, and save"


def _cells(notebook: Any) -> Iterator[_Cell]:
    """Yield the code cells. Raises ValueError if the file does not have the form of a notebook."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no list of cells")
    for cell in cells:
        if not isinstance(cell, dict):
            raise ValueError("a cell is not a mapping")
        if cell.get("cell_type") == "code":
            outputs = cell.get("outputs")
            shown = [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
            error = next(
                (_printable(str(each.get("ename", ""))) for each in shown if each.get("output_type") == "error"), ""
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
        answer = _printable(answer if isinstance(answer, str) else f"a {type(answer).__name__}")
    return {**found, "answer": answer}


def _printable(text: str) -> str:
    """Return foreign text in a form that is safe for a terminal, a table or XML: one short line without control
    characters.
    """
    return foreign.printable(text[:_LONGEST]).translate(_ONE_LINE)


def _text(source: object) -> str:
    """Return a cell's source, which a notebook stores as a text or as a list of lines."""
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
