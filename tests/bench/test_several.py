"""The hold-out of several flows: what is drawn, that laws answer or refuse it, and how their skill is counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from bench import holdout, several
from bench.scores import Score
from lab.model import ModelError
from lab.units import Value
from lab.verdict.judged import scenario_of

DAY, KERNEL = "2026-11-25", {"name": "7.2", "version": "7.2.13", "hz": 1000, "id": "x", "patches": []}


def test_a_case_follows_from_its_date_and_number() -> None:
    one, again, other = (several.draw(day, 3) for day in (DAY, DAY, "2026-11-26"))
    assert (one.case.network, one.case.workload, one.seed) == (again.case.network, again.case.workload, again.seed)
    assert (one.case.network, one.seed) != (other.case.network, other.seed)
    assert one.case.point == f"{DAY}/f3"


@pytest.mark.long
def test_each_kind_is_drawn_and_most_laws_answer() -> None:
    answers: Counter[tuple[str, bool]] = Counter()
    for number in range(1, 301):
        drawn = several.draw(DAY, number)
        assert drawn.case.prediction is not None
        assert drawn.allowed == drawn.case.prediction.accuracy
        try:
            answers[drawn.case.arm, drawn.case.prediction(scenario_of(drawn.case, KERNEL)).number > 0] += 1
        except ModelError:
            answers[drawn.case.arm, False] += 1
    answered = {arm for arm, is_answered in answers if is_answered}
    assert answered == {
        *("share-at-a-full-queue", "wait-at-a-full-queue", "share-beside-BBR", "share-of-a-fair-queue"),
        *("share-by-chance", "drops-of-an-AQM", "wait-in-RED", "convergence"),
    }
    refused = sum(count for (_, is_answered), count in answers.items() if not is_answered)
    assert 0 < refused <= 45, "a path outside a law's range is drawn, too, but not often"


def score(law: float | None, measured: float, naive: float, number: int = 3) -> Score:
    drawn = several.draw(DAY, number)
    values = {"predicted": None if law is None else Value(law, "1"), "measured": Value(measured, "1")}
    result: Any = SimpleNamespace(**values, prediction=drawn.case.prediction, law=None, model_error=None)
    return Score(replace(drawn, allowed=0.2, naive=Value(naive, "1")), result)


def test_skill_is_what_a_law_takes_away_of_the_naive_figures_error() -> None:
    table = several.skills([score(0.44, 0.4, 0.8), score(0.4, 0.4, 0.2), score(0.8, 0.4, 0.4), score(None, 0.4, 0.4)])
    console = Console(width=120, file=StringIO())
    console.print(table)
    *_, last = console.file.getvalue().strip().splitlines()  # type: ignore[attr-defined]
    # Errors are 10 %, 0 and 100 %; as logarithms ln 1.1, 0 and ln 2, of the naive figure ln 2, ln 2 and 0.
    assert last.split() == ["all", "4", "3", "±", "0", "%", "20", "%", "2", "of", "3", "10", "%", "1e+02", "%", "0.43"]


def test_the_width_of_intervals_stands_beside_how_often_they_hold() -> None:
    wide = score(0.4, 0.4, 0.8)
    object.__setattr__(wide.result, "predicted", Value(0.4, "1", low=0.3, high=0.5))
    console = Console(width=120, file=StringIO())
    console.print(several.skills([wide]))
    assert "± 25 %" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_miss_is_named_with_the_draw_that_it_is_of() -> None:
    assert f"--of flows --date {DAY} --only 3" in holdout.named(score(0.8, 0.4, 0.4), DAY)
