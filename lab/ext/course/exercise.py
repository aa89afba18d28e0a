"""Provide the classes with which an exercise of the course declares its steps, with their questions and experiments.

An exercise file has its title in its docstring, and defines one `EXERCISE`. No file holds the figure that a student has
to predict, because a trial measures the figure. For a choice, the file holds only a hash of the right option.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar, TypeGuard

from lab.spec.claimed import Reported
from lab.spec.experiment import Experiment
from lab.units import Value

Answer = float | int | str  # what a student may enter

_LARGEST = 1e12  # in the unit of an answer: all figures of the course are far below


@dataclass(frozen=True)
class Said(Reported):
    """Holds a student's figure."""

    quote: str = "what you said"
    whose: ClassVar[str] = "you said"


@dataclass(frozen=True)
class Goal(Reported):
    """Holds the figure that an arm of a step must reach."""

    quote: str = "the goal"
    whose: ClassVar[str] = "goal"


@dataclass(frozen=True)
class Hint:
    """Gives a hint to students whose answer is from `low` to `high` times the measured figure."""

    says: str
    low: float = 0.0
    high: float = inf


@dataclass(frozen=True, kw_only=True)
class Step:
    """Describes the common parts of all steps: the name of the answer, the question, and the answer's unit."""

    name: str
    asks: str
    unit: str = ""  # of a numeric answer; "" for a count

    def why_not(self, answer: object) -> str:
        """Return the reason why `answer` is not a possible answer, or "" if it is possible."""
        raise NotImplementedError


def _is_number(answer: object) -> TypeGuard[int | float]:
    return isinstance(answer, int | float) and not isinstance(answer, bool) and 0 < answer < _LARGEST


@dataclass(frozen=True, kw_only=True)
class Predict(Step):
    """Asks for a figure before its trial runs. The experiment uses the figure as its claim, which one arm tests."""

    experiment: Callable[[Said], Experiment]
    hints: tuple[Hint, ...] = ()

    def why_not(self, answer: object) -> str:
        """Return the reason why `answer` is not a figure in this unit, or "" if it is a figure."""
        wanted = f"a positive number of {self.unit}" if self.unit else "a positive number"
        return "" if _is_number(answer) else f"it should be {wanted}"

    def claimed(self, answer: Answer) -> Said:
        """Return the answer as a claim. A computed answer may have more digits than the smallest unit allows."""
        if not self.unit:
            return Said(float(answer))
        one = Value.of(f"1 {self.unit}")
        return Said(Value(float(answer) * one.number, one.unit))

    def hint(self, share: float) -> str:
        """Return the hint for an answer that is `share` times the measured figure, or "" without a hint."""
        return next((hint.says for hint in self.hints if hint.low <= share < hint.high), "")


@dataclass(frozen=True, kw_only=True)
class Reach(Step):
    """Asks for a setting with which the arms of an experiment reach their goals.

    The setting is a whole number from `low` to `high`, or one of `options`. A hint belongs to an arm that misses its
    goal.
    """

    low: int = 0
    high: int = 0
    options: tuple[str, ...] = ()
    experiment: Callable[[Answer], Experiment]
    hints: Mapping[str, str] = field(default_factory=dict)

    def why_not(self, answer: object) -> str:
        """Return the reason why `answer` is not a possible setting, or "" if it is possible."""
        if self.options:
            wanted = ", ".join(f'"{option}"' for option in self.options)
            return "" if isinstance(answer, str) and answer in self.options else f"it should be one of {wanted}"
        fits = _is_number(answer) and float(answer).is_integer() and self.low <= answer <= self.high
        unit = f" {self.unit}" if self.unit else ""
        return "" if fits else f"it should be a whole number from {self.low:,} to {self.high:,}{unit}"

    def chosen(self, answer: Answer) -> Answer:
        """Return the answer for the experiment. The result 65.0 of a division becomes 65."""
        return int(answer) if isinstance(answer, float) else answer


@dataclass(frozen=True, kw_only=True)
class Choose(Step):
    """Asks which of several sentences is true. The file has only the SHA-256 of the right option, `digest`."""

    options: Mapping[str, str]
    remarks: Mapping[str, str]  # option -> the remark for a student who chooses it
    digest: str

    def __post_init__(self) -> None:
        if self.options.keys() != self.remarks.keys():
            raise ValueError(f"step '{self.name}': each option needs a remark, and each remark an option")
        if self.digest not in map(self._digest, self.options):
            raise ValueError(f"step '{self.name}': no option has that digest; {self._known()}")

    def why_not(self, answer: object) -> str:
        """Return the reason why `answer` is not one of the options, or "" if it is an option."""
        wanted = ", ".join(f'"{option}"' for option in self.options)
        return "" if isinstance(answer, str) and answer in self.options else f"it should be one of {wanted}"

    def is_right(self, answer: Answer) -> bool:
        """Return whether the option is the right one."""
        return self._digest(str(answer)) == self.digest

    def _digest(self, option: str) -> str:
        return hashlib.sha256(f"{self.name}: {self.options[option]}".encode()).hexdigest()

    def _known(self) -> str:
        return ", ".join(f"{option} has {self._digest(option)}" for option in self.options)


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """Describes an exercise: the time that a student needs, the goals, further reading, and the steps in order."""

    minutes: int
    goals: tuple[str, ...]
    reading: tuple[str, ...]
    steps: tuple[Predict | Reach | Choose, ...]

    def __post_init__(self) -> None:
        names = [step.name for step in self.steps]
        if not names or len(set(names)) < len(names):
            raise ValueError("an exercise needs steps with different names")
