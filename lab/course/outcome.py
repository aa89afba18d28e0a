"""Judge an answer: by the record of its trial, or by the hash of the option that is true."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, get_args

from lab.errors import MachineError
from lab.kernel import choose
from lab.report.html import figure, typeset
from lab.runner.plan import Settings
from lab.spec.course import LoadedExercise
from lab.spec.exercise import Answer, Choose, Predict, Reach
from lab.units import Value
from lab.usecases import running, userlands
from lab.verdict import Result
from lab.verdict.judged import JudgedClaim

__all__ = ["VERDICTS", "Judge", "Outcome", "Verdict"]

Verdict = Literal["right", "wrong", "empty", "broken"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Outcome:
    """Says what became of an answer, in sentences for whoever gave it; `judged` holds the trials, where any ran."""

    verdict: Verdict
    says: str
    judged: JudgedClaim | None = None


@dataclass(frozen=True)
class Judge:
    """Judges answers by trials on the usual kernel, with the sealed userland, whose records are in `results`.

    In virtual time these are the same bytes anywhere, so a verdict does not depend on the machine.
    """

    results: Path

    @cached_property
    def _settings(self) -> Settings:
        """Choose the kernel when the first trial needs it. Raises MachineError when there is none."""
        kernel = choose("uml", None)
        return Settings(kernel, userland=userlands.chosen("sealed", kernel.on))

    def judge(self, exercise: LoadedExercise, step: Predict | Reach | Choose, answer: object) -> Outcome:
        """Judge an answer, whatever it is. Raises what running the trial raises."""
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
        done = running.run([exercise.experiment(step, answer)], self._settings, self.results, tells=False)
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
    """Say how far off a prediction is, and give the hint for that."""
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
    """Say which goals are reached, and give the hints for those that are not."""
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
    """Write a figure in the unit that the student was asked for."""
    if not unit:
        return _digits(value.number)
    return typeset(f"{_digits(value.number / Value.of(f'1 {unit}').number)} {unit}")


def _digits(number: float) -> str:
    """Write a number with five digits, or all of those before its point: nobody reads exponents."""
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:,.5g}"
