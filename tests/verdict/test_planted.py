"""Planted faults of evidence: each is refused, or shown for what it is. docs/statistics.md lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.model import ModelError
from lab.spec.prediction import law
from lab.spec.tolerance import Within
from lab.units import Value
from lab.verdict.sample import independent
from tests.verdict.cases import bps, case
from tests.verdict.test_verdict import recorded, run

ROOT = Path(__file__).parents[2]


def test_an_arm_outside_its_laws_range_holds_nothing() -> None:
    """It is shown with the reason, whatever it measures, and no verdict about the law has it."""

    @law(formula="x", source="a paper")
    def narrow(_: float) -> Value:
        raise ModelError("the window is 19 segments: the law is for 50 and more")

    (result,) = run([case(prediction=narrow)], [recorded(100)]).results
    assert (result.predicted, result.standing, result.model_is_off) == (None, None, False)
    assert result.why_not_predicted == "the window is 19 segments: the law is for 50 and more"


def test_a_wider_accuracy_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="a tolerance needs its reason"):
        Within(0.4, because=" ")
    with pytest.raises(ValueError, match="should be a ratio above 0 and below 1"):
        Within(1.5, because="so that it holds")


def test_one_seed_ten_times_is_one_sample() -> None:
    again = [recorded(100 + repeat, seed=1) for repeat in range(10)]
    assert len(independent(again)) == 1
    (result,) = run([case(samples=10)], again).results
    assert (result.measured, result.valid) == (None, 1), "one of ten samples is too few"


def test_few_noisy_seeds_make_no_law_hold() -> None:
    (result,) = run([case(samples=2)], [recorded(60, seed=1), recorded(150, seed=2)]).results
    assert result.predicted == bps(101)
    assert result.standing == "undecided"


def test_the_documentation_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/\w+/test_\w+\.py)::(test_\w+)`", (ROOT / "docs" / "statistics.md").read_text())
    assert len(named) >= 10
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(), (file, test)
