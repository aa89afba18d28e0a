"""Find and load the course exercises that ship with the lab. Exercises in the current directory are ignored.

Graders work in folders with submissions, where no file may decide which answer is right.
"""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass
from pathlib import Path

from lab.base.meaning import meaning
from lab.errors import InputError
from lab.ext.course.exercise import Answer, Choose, Exercise, Predict, Reach
from lab.spec import python, shipped
from lab.spec import topology as topologies
from lab.spec.errors import Problem, SpecError, display, instead
from lab.spec.experiment import Experiment
from lab.spec.loaded import Article, LoadedExperiment


@dataclass(frozen=True)
class LoadedExercise:
    """Holds a loaded exercise file."""

    name: str
    title: str
    path: Path
    source_sha256: str
    exercise: Exercise

    def step(self, name: str) -> Predict | Reach | Choose:
        """Return the step `name`. Raises InputError if there is no such step."""
        for step in self.exercise.steps:
            if step.name == name:
                return step
        names = [step.name for step in self.exercise.steps]
        raise InputError(f"exercise {self.name} has no step '{name}'{instead(name, names)}")

    def experiment(self, step: Predict | Reach, answer: Answer) -> LoadedExperiment:
        """Return the experiment that decides whether `answer` is right."""
        if isinstance(step, Predict):
            declared = step.experiment(step.claimed(answer))
        else:
            declared = step.experiment(step.chosen(answer))
        return LoadedExperiment(
            id=f"{self.name}/{step.name}",
            article=Article(self.name, title=self.title, author="", date="", url=""),
            claim=step.asks,
            source="",
            path=self.path,
            source_sha256=self.source_sha256,
            experiment=declared,
            topology=topologies.load(self.path.parent / _file(declared)),
        )


def _file(experiment: Experiment) -> str:
    if not isinstance(experiment.topology, str):
        raise InputError("an exercise's topology must be a file, with its path relative to the exercise's folder")
    return experiment.topology


def exercises() -> dict[str, Path]:
    """Return the file of every exercise, by name, in order."""
    folder = shipped.folder() / "notebooks" / "classroom" / "exercises"
    return {path.stem: path for path in sorted(folder.glob("[!_.]*.py"))}


def load(name: str) -> LoadedExercise:
    """Return the exercise `name`.

    Raises InputError if the exercise does not exist, and SpecError for mistakes in its file.
    """
    known = exercises()
    if name not in known:
        raise InputError(f"unknown exercise '{name}'{instead(name, known)}")
    path = known[name]
    source = path.read_bytes()
    module = python.run(source, path)
    exercise = getattr(module, "EXERCISE", None)
    if not isinstance(exercise, Exercise) or not module.__doc__:
        raise SpecError(
            [Problem(display(path), 1, "should have its title as a docstring, and define EXERCISE = Exercise(...)")]
        )
    title = inspect.cleandoc(module.__doc__).split("\n\n")[0].rstrip(".")
    return LoadedExercise(name, title, path, hashlib.sha256(meaning(source)).hexdigest(), exercise)
