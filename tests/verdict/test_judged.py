"""Whether a judged claim is as expected."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lab.guest.clock import Clock
from lab.spec.case import CaseKey
from lab.verdict import ClaimResult, Verdict
from lab.verdict.judged import JudgedClaim
from lab.verdict.result import Result
from tests.verdict.cases import HUNDRED, bps, case


def judged(
    kinds: dict[str, tuple[Any, Clock]],
    verdict: Any,
    expect: str,
    clock: Clock = "virtual",
    others: tuple[str, ...] = (),
    machines: tuple[str, ...] = (),
    records: tuple[Any, ...] = (),
) -> JudgedClaim:
    """A claim with an arm for each name: its verdict, and the clock that it declares."""
    cases = tuple(case(arm, clock=own) for arm, (_, own) in kinds.items())
    results = tuple(
        Result(arm, "", None, None, HUNDRED, Verdict(kind, ""), counts=True, trials=())
        for arm, (kind, _) in kinds.items()
    )
    experiment = SimpleNamespace(expect=expect, other_seeds=others, other_machines=machines, misses=())
    declared: Any = SimpleNamespace(experiment=experiment)
    return JudgedClaim(declared, cases, ClaimResult("a/b", Verdict(verdict, ""), "7.2", clock, results), records, None)


@pytest.mark.parametrize(
    ("kinds", "verdict", "clock", "passes"),
    [
        ({"one": ("reproduced", "virtual")}, "reproduced", "virtual", True),
        ({"one": ("not reproduced", "real")}, "not reproduced", "virtual", False),
        ({"one": ("invalid", "real")}, "invalid", "virtual", False),
        ({"one": ("inconclusive", "virtual")}, "inconclusive", "virtual", False),
        ({"one": ("inconclusive", "real")}, "inconclusive", "virtual", True),
        ({"one": ("inconclusive", "virtual")}, "inconclusive", "real", True),
        ({"one": ("reproduced", "virtual"), "two": ("inconclusive", "real")}, "inconclusive", "virtual", True),
        ({"one": ("inconclusive", "virtual"), "two": ("inconclusive", "real")}, "inconclusive", "virtual", False),
    ],
)
def test_only_in_real_time_an_open_verdict_contradicts_nothing(
    kinds: dict[str, tuple[Any, Clock]], verdict: str, clock: Clock, passes: bool
) -> None:
    assert judged(kinds, verdict, "reproduced", clock).passed is passes


@pytest.mark.parametrize(
    ("seeds", "verdict", "passes"),
    [
        ((1, 2), "inconclusive", False),
        ((11, 12), "inconclusive", True),
        ((11, 12), "not reproduced", False),
        ((11, 12), "reproduced", True),
    ],
)
def test_only_other_seeds_than_the_first_may_give_the_other_verdicts(
    seeds: tuple[int, ...], verdict: str, passes: bool
) -> None:
    """A trial without chance is shared by all seeds, and has the first."""
    trials = [("one", seed) for seed in seeds] + [("fixed", 1)]
    records = tuple(
        SimpleNamespace(trial=SimpleNamespace(seed=seed, key=CaseKey(arm, ""), clock="virtual")) for arm, seed in trials
    )
    found = judged({"one": (verdict, "virtual")}, verdict, "reproduced", others=("inconclusive",), records=records)
    cases = (replace(found.cases[0], samples=2), case("fixed"))
    assert replace(found, cases=cases).passed is passes


@pytest.mark.parametrize(
    ("verdict", "ran_in", "passes"),
    [
        ("reproduced", "real", True),
        ("partly", "real", True),
        ("not reproduced", "real", False),
        ("reproduced", "virtual", False),
        ("partly", "virtual", True),
    ],
)
def test_another_machine_may_give_the_declared_verdicts_in_real_time(verdict: Any, ran_in: Clock, passes: bool) -> None:
    records = (SimpleNamespace(trial=SimpleNamespace(seed=1, key=CaseKey("one", ""), clock=ran_in)),)
    kinds: Any = {"one": (verdict, "real")}
    assert judged(kinds, verdict, "partly", machines=("reproduced",), records=records).passed is passes


def test_an_open_verdict_excuses_no_model() -> None:
    claim = judged({"one": ("inconclusive", "real")}, "inconclusive", "reproduced")
    off = Result("one", "", None, bps(50), HUNDRED, None, counts=False, trials=(), accuracy=case().accuracy)
    result = ClaimResult("a/b", claim.result.verdict, "7.2", "virtual", (*claim.result.results, off))
    assert not JudgedClaim(claim.declared, claim.cases, result, (), None).passed


@pytest.mark.parametrize(
    ("measured", "misses", "passes"),
    [(100, (), True), (50, (), False), (50, ("one",), True), (100, ("one",), False), (50, ("other",), False)],
)
def test_a_prediction_misses_if_it_is_known_to_and_only_then(
    measured: int, misses: tuple[str, ...], passes: bool
) -> None:
    claim = judged({"one": ("reproduced", "virtual")}, "reproduced", "reproduced")
    figure = Result("one", "", None, HUNDRED, bps(measured), None, False, (), accuracy=case().accuracy)
    result = ClaimResult("a/b", claim.result.verdict, "7.2", "virtual", (figure,))
    known = tuple(SimpleNamespace(arm=arm, because="it is made up") for arm in misses)
    experiment = SimpleNamespace(expect="reproduced", other_seeds=(), other_machines=(), misses=known)
    declared: Any = SimpleNamespace(experiment=experiment)
    assert JudgedClaim(declared, claim.cases, result, (), None).passed is passes
