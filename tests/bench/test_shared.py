"""The hold-out of queues and several flows: what is drawn, and that laws answer or refuse it."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from bench import holdout, shared
from bench.scores import Score
from lab.model import ModelError
from lab.verdict.judged import scenario_of

DAY, KERNEL = "2026-11-25", {"name": "7.2", "version": "7.2.13", "hz": 1000, "id": "x", "patches": []}


def test_a_case_follows_from_its_date_and_number() -> None:
    one, again, other = (shared.draw(day, 3) for day in (DAY, DAY, "2026-11-26"))
    assert (one.case.network, one.case.workload, one.seed) == (again.case.network, again.case.workload, again.seed)
    assert (one.case.network, one.seed) != (other.case.network, other.seed)
    assert one.case.point == f"{DAY}/q3"


def test_each_kind_is_drawn_and_its_law_answers_or_says_why_not() -> None:
    answers: Counter[tuple[str, bool]] = Counter()
    for number in range(1, 61):
        case = shared.draw(DAY, number).case
        assert case.prediction is not None
        assert case.prediction.kind in ("law", "replay")
        try:
            answers[case.arm, bool(case.prediction(scenario_of(case, KERNEL)).number)] += 1
        except ModelError:
            answers[case.arm, False] += 1
    assert {arm for arm, answered in answers if answered} == {
        *("full-queue", "CoDels-drops", "sparse-flow", "fairness-index", "total-goodput", "square-root")
    }
    assert any(not answered for _, answered in answers), "a path outside a law's range is drawn, too"


def test_a_miss_is_named_with_the_draw_that_it_is_of() -> None:
    drawn = shared.draw(DAY, 3)
    result: Any = SimpleNamespace(predicted="1", measured="2", model_error=-1.0, law=None)
    assert f"--of queues --date {DAY} --only 3" in holdout.named(Score(drawn, result), DAY)
