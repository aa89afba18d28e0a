"""Grade submissions: a verdict for each step of each exercise that a notebook was handed in of."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from lab.course.outcome import VERDICTS, Judge, Outcome, Verdict
from lab.course.submission import HandedIn, handed_in
from lab.errors import InputError
from lab.spec import course
from lab.spec.course import LoadedExercise
from lab.spec.exercise import Choose, Predict, Reach

__all__ = ["Grade", "Grades", "grade"]

_COLUMNS = ("submission", "exercise", "step", "verdict", "answer", "says", "file")


@dataclass(frozen=True)
class Grade:
    """Says what became of one step; of a notebook that cannot be read, exercise and step are ""."""

    submission: str
    file: str
    exercise: str
    step: str
    verdict: Verdict
    says: str
    answer: object = None

    def plain(self) -> dict[str, Any]:
        """Return it as `lab grade --json` prints it."""
        plain = {name: getattr(self, name) for name in _COLUMNS}
        finite = not isinstance(self.answer, float) or isfinite(self.answer)
        return plain if finite else {**plain, "answer": str(self.answer)}  # JSON has no such numbers


@dataclass(frozen=True)
class Grades:
    """Holds the grades of all submissions, in order."""

    grades: tuple[Grade, ...]

    @property
    def exit_code(self) -> int:
        """Return 2 where a notebook cannot be read, else 1 where an answer is not right, else 0."""
        if any(not each.exercise for each in self.grades):
            return InputError.exit_code
        return 1 if any(each.verdict != "right" for each in self.grades) else 0

    def counts(self, grades: Iterable[Grade]) -> dict[Verdict, int]:
        """Count the verdicts of some of them, zeros included."""
        kinds = [each.verdict for each in grades]
        return {verdict: kinds.count(verdict) for verdict in VERDICTS}

    def by_submission(self) -> dict[str, list[Grade]]:
        """Return submission -> its grades."""
        found: dict[str, list[Grade]] = {}
        for each in self.grades:
            found.setdefault(each.submission, []).append(each)
        return found

    def plain(self) -> dict[str, Any]:
        """Return this as `lab grade --json` prints it."""
        return {
            "submissions": [
                {"submission": name, "counts": self.counts(grades), "grades": [each.plain() for each in grades]}
                for name, grades in self.by_submission().items()
            ]
        }

    def csv(self) -> str:
        """Return a table with a row for each step. A cell that a spreadsheet would compute is text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows([_inert(getattr(each, name)) for name in _COLUMNS] for each in self.grades)
        return text.getvalue()

    def junit(self) -> bytes:
        """Return JUnit XML: a suite for each submission, with a test case for each step."""
        suites = ET.Element("testsuites", {"name": "lab grade", "tests": str(len(self.grades))})
        for name, grades in self.by_submission().items():
            counts = self.counts(grades)
            totals = {"failures": counts["wrong"], "errors": counts["broken"], "skipped": counts["empty"]}
            sums = {key: str(value) for key, value in {"tests": len(grades), **totals}.items()}
            suite = ET.SubElement(suites, "testsuite", {"name": name, **sums})
            for each in grades:
                names = {"classname": each.exercise or "notebook", "name": each.step or each.file}
                case = ET.SubElement(suite, "testcase", names)
                if each.verdict != "right":
                    kind = {"wrong": "failure", "broken": "error", "empty": "skipped"}[each.verdict]
                    ET.SubElement(case, kind, message=each.says)
        ET.indent(suites)
        document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
        return document


def _inert(value: object) -> object:
    text = "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def grade(submissions: Iterable[Path], judge: Judge) -> Grades:
    """Grade submissions, each a notebook or a folder of notebooks.

    An answer that several gave is judged once. Raises InputError for one that is not there, SpecError, MachineError,
    and what running a trial raises.
    """
    names = course.exercises().keys()
    found = [each for submission in submissions for each in handed_in(submission, names)]
    exercises = {name: course.load(name) for name in {each.exercise for each in found} if name}
    known: dict[tuple[str, str, str], Outcome] = {}

    def judged(exercise: LoadedExercise, step: Predict | Reach | Choose, answer: object) -> Outcome:
        key = exercise.name, step.name, repr(answer)
        if key not in known:
            known[key] = judge.judge(exercise, step, answer)
        return known[key]

    def grades_of(notebook: HandedIn) -> Iterator[Grade]:
        submission, file = notebook.submission, notebook.file
        if notebook.problem:
            yield Grade(submission, file, "", "", "broken", notebook.problem)
            return
        exercise = exercises[notebook.exercise]
        for step in exercise.exercise.steps:
            where = submission, file, exercise.name, step.name
            if step.name in notebook.answers:
                answer = notebook.answers[step.name]
                outcome = judged(exercise, step, answer)
                yield Grade(*where, outcome.verdict, outcome.says, answer)
            elif step.name in notebook.unanswered:
                yield Grade(*where, "broken", f"There is no answer: {notebook.unanswered[step.name]}.")
            else:
                yield Grade(*where, "empty", "There is no answer.")

    return Grades(tuple(each for notebook in found for each in grades_of(notebook)))
