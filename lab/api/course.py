"""Open an exercise of the course in a notebook, and grade what was handed in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.api.options import Folder, writing_to

if TYPE_CHECKING:
    from lab.course.grading import Grades
    from lab.course.lesson import Lesson

__all__ = ["exercise", "grade"]


def exercise(name: str, results: Folder = None) -> Lesson:
    """Open an exercise of the course; its trials' records go to the store `results`, as `run` chooses it.

    Raises InputError when there is no such exercise.
    """
    from lab.course.lesson import Lesson
    from lab.course.outcome import Judge
    from lab.spec import course

    return Lesson(course.load(name), Judge(writing_to(results)))


def grade(*submissions: str | Path, results: Folder = None) -> Grades:
    """Grade submissions, each a notebook or a folder of them, step by step, by the answers in their cells' outputs.

    No code of theirs is executed. Trials that the answers need, and the store `results` lacks, run. Raises InputError
    for a submission that is not there, MachineError without a kernel, and what running a trial raises.
    """
    from lab.course import grading
    from lab.course.outcome import Judge

    return grading.grade(map(Path, submissions), Judge(writing_to(results)))
