"""Open an exercise of the course in a notebook, and grade submissions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, writing_to

if TYPE_CHECKING:
    from lab.ext.course.grading import Grades
    from lab.ext.course.lesson import Lesson


def exercise(name: str, results: Folder = None) -> Lesson:
    """Return an exercise of the course. The records of its trials go to the store `results` (default: as for `run`).

    Raises InputError for an unknown exercise.
    """
    from lab.ext.course import exercises as course
    from lab.ext.course.lesson import Lesson
    from lab.ext.course.outcome import Judge

    return Lesson(course.load(name), Judge(writing_to(results)))


def grade(*submissions: str | Path, results: Folder = None) -> Grades:
    """Return the grades of submissions, step by step. Each submission is a notebook, or a folder of notebooks.

    The answers come from the cell outputs of the notebooks. No code of a submission is executed. Trials that are needed
    to judge the answers run if they are missing in the store `results`. Raises InputError for a missing submission,
    MachineError without a kernel, and the errors of running a trial.
    """
    from lab.ext.course import grading
    from lab.ext.course.outcome import Judge

    return grading.grade(map(Path, submissions), Judge(writing_to(results)))
