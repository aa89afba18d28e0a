"""Judge an answer from the record of its trial, or with the hash of the right option."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, get_args

from lab.app import running, userlands
from lab.app.options import RunOptions
from lab.errors import MachineError
from lab.ext.course.exercise import Answer, Choose, Predict, Reach
from lab.ext.course.exercises import LoadedExercise
from lab.machine.kernel import choose
from lab.report.wording import figure, typeset
from lab.runner.plan import Settings
from lab.units import Value
from lab.verdict import Result
from lab.verdict.judged import JudgedClaim

StepVerdict = Literal["right", "wrong", "empty", "broken"]
VERDICTS: tuple[StepVerdict, ...] = get_args(StepVerdict)


@dataclass(frozen=True)
class Outcome:
    """Holds the result of an answer, in sentences for the student. `judged` holds the trials, if any trials ran."""

    verdict: StepVerdict
    says: str
    judged: JudgedClaim | None = None


@dataclass(frozen=True)
class Judge:
    """Judges answers with trials on the default kernel and the sealed userland. The records are in `results`.

    In virtual time, records have the same bytes on every machine, so a verdict does not depend on the machine.
    """

    results: Path

    @cached_property
    def _settings(self) -> Settings:
        """Find the settings on first use, and return them. Raises MachineError if there is no kernel."""
        kernel = choose("uml", None)
        return Settings(kernel, userland=userlands.chosen("sealed", kernel.on))

    def judge(self, exercise: LoadedExercise, step: Predict | Reach | Choose, answer: object) -> Outcome:
        """Return the outcome of an answer of any type. Raises the errors of running the trial."""
        if why_not := step.why_not(answer):
            return Outcome("broken", f"{_short(answer)} is no answer: {why_not}.")
        assert isinstance(answer, int | float | str)
        if isinstance(step, Choose):
            right = step.is_right(answer)
            return Outcome("right" if right else "wrong", f"{_began(right)} {step.remarks[str(answer)]}")
        judged = self._run(exercise, step, answer)
        if judged.result.verdict.kind == "invalid":
            return Outcome("broken", f"{_short(answer)} cannot be judged: {judged.result.verdict.reason}.", judged)
        say = partial(_predicted, step) if isinstance(step, Predict) else partial(_reached, step)
        right = judged.result.verdict.kind == "reproduced"
        return Outcome("right" if right else "wrong", f"{_began(right)} {say(judged)}".strip(), judged)

    def _run(self, exercise: LoadedExercise, step: Predict | Reach, answer: Answer) -> JudgedClaim:
        done = running.run(
            [exercise.experiment(step, answer)], self._settings, RunOptions(results=self.results), tells=False
        )
        if done.errors:
            raise done.errors[0]
        (judged,) = done.judged
        if judged.result.verdict.kind == "skipped":
            raise MachineError(f"{exercise.name}, {step.name}: {judged.result.verdict.reason}")
        return judged


def _began(right: bool) -> str:
    return "Right." if right else "Not yet."


def _short(answer: object) -> str:
    text = repr(answer)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _predicted(step: Predict, judged: JudgedClaim) -> str:
    """Return a prediction's error, with the matching hint."""
    result = next(each for each in judged.result.results if each.counts)
    said, measured = result.reported, result.measured
    assert said
    assert measured
    beside = f"You said {_figure(said, step.unit)}, the kernel did {_figure(measured, step.unit)}"
    share = said.number / measured.number
    if judged.result.verdict.kind == "reproduced":
        return f"{beside}."
    off = 100 * (share - 1)
    percent = f"{abs(off):.2g}" if abs(off) < 10 else f"{abs(off):.0f}"
    far = f"{percent} % too {'high' if off > 0 else 'low'}"
    if not 0.1 <= share < 10:
        far = f"{share:,.0f} times too much" if share > 1 else f"{1 / share:,.0f} times too little"
    return " ".join(filter(None, [f"{beside}: {far}.", step.hint(share)]))


def _reached(step: Reach, judged: JudgedClaim) -> str:
    """Return the goals that the setting reaches, with hints for the other goals."""
    counted = [each for each in judged.result.results if each.counts]
    titles = {case.key: case.title for case in judged.cases}
    goals = "; ".join(f"{titles[each.key]}: {_against(each)}" for each in counted)
    missed = [each.arm for each in counted if each.verdict and each.verdict.kind != "reproduced"]
    hints = [step.hints[arm] for arm in missed if arm in step.hints]
    return " ".join([f"{goals[0].upper()}{goals[1:]}.", *hints])


def _against(result: Result) -> str:
    goal, measured = result.reported, result.measured
    shown = _digits(measured.number) if measured and measured.unit == "1" else figure(measured)
    if result.verdict and result.verdict.kind != "reproduced" and measured and goal and shown == figure(goal):
        shown += f", {100 * abs(measured.number / goal.number - 1):.1g} % off"
    return f"{shown}, the goal is {result.bound}{figure(goal)}"


def _figure(value: Value, unit: str) -> str:
    """Return a figure in the unit of the question."""
    if not unit:
        return _digits(value.number)
    return typeset(f"{_digits(value.number / Value.of(f'1 {unit}').number)} {unit}")


def _digits(number: float) -> str:
    """Return a number with five digits, or all digits before the point. Exponents are hard to read."""
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:,.5g}"
