"""Guide a student through an exercise in a notebook: predict a figure, run the trial, and look at the packets.

The cell outputs hold the answers, so `lab.ext.course.submission` can read them without running a notebook's code. A
step without an answer only shows that the answer is missing, so that the original notebook runs without errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from lab.errors import InputError, LabError
from lab.ext.course.exercise import Choose, Predict, Reach
from lab.ext.course.exercises import LoadedExercise
from lab.ext.course.outcome import Judge, Outcome
from lab.ext.course.packets import explained, opened
from lab.report.claim import Claim
from lab.report.html import Html, code, folded, prose
from lab.report.stored import ANSWER

_LONG = 12  # characters: a longer number was computed, not typed
_LARGE = 1_000_000  # numbers from here on are shown without a fraction


@dataclass(frozen=True, repr=False)
class Lesson:
    """Shows the goals of an exercise, and accepts answers."""

    exercise: LoadedExercise
    judge: Judge

    def say(self, step: str, answer: object = ...) -> SaidStep:
        """Return the answer to a step; `...` means that there is no answer yet. Raises InputError for an unknown
        step.
        """
        return SaidStep(self, self.exercise.step(step), answer)

    def _repr_html_(self) -> str:
        declared = self.exercise.exercise
        goals = "".join(f"<li>{prose(goal)}</li>" for goal in declared.goals)
        read = "; ".join(map(prose, declared.reading))
        time = f"<p>About {declared.minutes} minutes. You learn</p><ul>{goals}</ul>"
        return f"{time}<p>Read on: {read}.</p>"

    def __repr__(self) -> str:
        declared = self.exercise.exercise
        goals = "\n".join(f"- {goal}" for goal in declared.goals)
        return f"About {declared.minutes} minutes. You learn\n{goals}\nRead on: {'; '.join(declared.reading)}."


@dataclass(frozen=True, repr=False)
class SaidStep:
    """Shows the question until it is answered, and then the answer or, for a choice, the verdict."""

    lesson: Lesson
    step: Predict | Reach | Choose
    answer: object

    @property
    def is_empty(self) -> bool:
        """Return whether there is no answer."""
        return self.answer is ...

    def run(self) -> Seen:
        """Run the step's missing trials, and return the judged answer. Without an answer, run no trial."""
        if self.is_empty or isinstance(self.step, Choose):
            return Seen(self, None)
        return Seen(self, self.lesson.judge.judge(self.lesson.exercise, self.step, self.answer))

    def __repr__(self) -> str:
        if self.is_empty:
            unit = f" ({self.step.unit})" if self.step.unit else ""
            return "\n".join([f"Your turn: {self.step.asks}{unit}", *self._options()])
        if why_not := self.step.why_not(self.answer):
            return f"{self.answer!r} is no answer: {why_not}."
        if isinstance(self.step, Choose):
            return self.lesson.judge.judge(self.lesson.exercise, self.step, self.answer).says
        said = str(self.answer)
        if isinstance(self.answer, float) and len(said) > _LONG:  # it was computed
            said = f"{self.answer:,.0f}" if self.answer >= _LARGE else f"{self.answer:,.7g}"
        return f"You say {said}{f' {self.step.unit}' if self.step.unit else ''}. Now run it."

    def _options(self) -> list[str]:
        """Return the options, one per line."""
        if isinstance(self.step, Choose):
            return [f"  {name}  {says}" for name, says in self.step.options.items()]
        return [f"  {', '.join(self.step.options)}"] if isinstance(self.step, Reach) and self.step.options else []

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        lines = [escape(line) for line in repr(self).split("\n")]
        shown = {"text/plain": repr(self), "text/html": f"<p>{'<br>'.join(lines)}</p>"}
        if self.is_empty:
            return shown
        given = self.answer if isinstance(self.answer, int | float | str | bool) else repr(self.answer)
        return {**shown, ANSWER: {"exercise": self.lesson.exercise.name, "step": self.step.name, "answer": given}}


@dataclass(frozen=True, repr=False)
class Seen:
    """Shows a step's trials: the verdict in words, the capture, and figures."""

    said: SaidStep
    outcome: Outcome | None  # None: there was no answer, so nothing ran

    @cached_property
    def claim(self) -> Claim | None:
        """The step's claim with its records, or None if no trial ran."""
        judged = self.outcome.judged if self.outcome else None
        return Claim(judged, in_report=False) if judged else None

    def plot(self, kind: str = "", *arms: str, **options: Any) -> Html:
        """Return one of `lab.report.figures`, like `Claim.plot`."""
        return self.claim.plot(kind, *arms, **options) if self.claim else self._nothing

    def packets(self, first: int = 1, count: int = 12, arm: str | None = None) -> Html:
        """Return `count` packets of the capture from number `first` on.

        Copy the capture to `captures/` for Wireshark.
        """
        if self.claim is None:
            return self._nothing
        exercise = self.said.lesson.exercise.name
        try:
            return opened(self._capture(arm), f"{exercise}.{self.said.step.name}.pcap", first, count)
        except OSError as error:
            raise LabError(f"the capture cannot be copied: {error.strerror or error}") from error

    def limits(self, arm: str | None = None) -> Html:
        """Return what limited the transfer in the capture, as `lab explain` prints it."""
        return explained(self._capture(arm)) if self.claim else self._nothing

    def _capture(self, arm: str | None) -> Path:
        assert self.claim
        each = self.claim.arms(*([arm] if arm else []))[0]
        if each.record is None or not each.capture:
            raise InputError(f"step {self.said.step.name} left no capture of {each.label}")
        return each.record.path(each.capture)

    def flow(self, arm: str | None = None) -> Html:
        """Return a drawing of goodput, windows and round trips over time."""
        return self.plot("flow", *([arm] if arm else []))

    @property
    def _nothing(self) -> Html:
        return Html(f"<p>{escape(repr(self))}</p>")

    def __repr__(self) -> str:
        return self.outcome.says if self.outcome else "Nothing has run: say first what you expect, in the cell above."

    def _repr_html_(self) -> str:
        if self.outcome is None:
            return self._nothing.text
        shown = f"<p>{escape(self.outcome.says)}</p>"
        if self.claim is None:
            return shown
        trials = "".join(f"<li>{escape(each.label)}: {each.result.measured}</li>" for each in self.claim.tested)
        return shown + folded("What was measured", f"<ul>{trials}</ul><p>Packets: {code('seen.packets()')}</p>")
