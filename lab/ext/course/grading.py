"""Grade submissions: give a verdict for each step of each exercise in the submitted notebooks."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.ext.course import exercises as course
from lab.ext.course.exercise import Choose, Predict, Reach
from lab.ext.course.exercises import LoadedExercise
from lab.ext.course.outcome import VERDICTS, Judge, Outcome, StepVerdict
from lab.ext.course.submission import HandedIn, handed_in

_COLUMNS = ("submission", "exercise", "step", "verdict", "answer", "says", "file")


@dataclass(frozen=True)
class Grade:
    """Describes the result of one step. For a notebook that cannot be read, exercise and step are ""."""

    submission: str
    file: str
    exercise: str
    step: str
    verdict: StepVerdict
    says: str
    answer: object = None

    def plain(self) -> dict[str, Any]:
        """Return the grade for `lab grade --json`."""
        plain = {name: getattr(self, name) for name in _COLUMNS}
        finite = not isinstance(self.answer, float) or isfinite(self.answer)
        return plain if finite else {**plain, "answer": str(self.answer)}  # JSON has no such numbers


@dataclass(frozen=True)
class Grades:
    """Holds the grades of all submissions, in order."""

    grades: tuple[Grade, ...]

    @property
    def exit_code(self) -> int:
        """Return 2 if a notebook cannot be read, else 1 if an answer is not right, else 0."""
        if any(not each.exercise for each in self.grades):
            return InputError.exit_code
        return 1 if any(each.verdict != "right" for each in self.grades) else 0

    def counts(self, grades: Iterable[Grade]) -> dict[StepVerdict, int]:
        """Return the number of grades for each verdict, with zeros."""
        kinds = [each.verdict for each in grades]
        return {verdict: kinds.count(verdict) for verdict in VERDICTS}

    def by_submission(self) -> dict[str, list[Grade]]:
        """Return the grades of each submission."""
        found: dict[str, list[Grade]] = {}
        for each in self.grades:
            found.setdefault(each.submission, []).append(each)
        return found

    def plain(self) -> dict[str, Any]:
        """Return the output of `lab grade --json`."""
        return {
            "submissions": [
                {"submission": name, "counts": self.counts(grades), "grades": [each.plain() for each in grades]}
                for name, grades in self.by_submission().items()
            ]
        }

    def csv(self) -> str:
        """Return a table with a row for each step. Cells that a spreadsheet would evaluate are quoted as text."""
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
    """Return the grades of submissions, each a notebook or a folder of notebooks.

    Equal answers are judged only once. Raises InputError for a missing submission, SpecError, MachineError, and the
    errors of running a trial.
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
