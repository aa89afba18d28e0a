"""Verdicts: on the interval, never on what was not tested."""

import struct
import zlib
from dataclasses import replace
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.spec.case import Case, CaseKey
from lab.spec.cause import Cause, Consistent, Demonstrated, Refutes
from lab.spec.claimed import Implied, Reported, Untestable
from lab.spec.prediction import Prediction, declared, law, simulation
from lab.spec.tolerance import Above, AtLeast, AtMost, Below, Exactly, Odds, Tolerance, Within, accuracy_for
from lab.units import UnitError, Value
from lab.verdict import Verdict, combine, evaluate, fidelity, judge, model_error
from lab.verdict.forecast import Forecast
from lab.verdict.judge import sum_up
from tests.verdict.cases import FIVE, HUNDRED, bps, case


@pytest.mark.parametrize(
    ("measured", "kind"),
    [
        (bps(100), "reproduced"),
        (bps(105), "reproduced"),
        (bps(106), "not reproduced"),
        (bps(104, 103, 104.9), "reproduced"),
        (bps(104, 102, 106), "inconclusive"),
        (bps(108, 104, 112), "inconclusive"),
        (bps(110, 106, 114), "not reproduced"),
    ],
)
def test_the_interval_decides(measured: Value, kind: str) -> None:
    assert judge(bps(100), measured, FIVE).kind == kind


def test_a_lower_bound_says_so_and_contradicts_a_smaller_bound() -> None:
    found = judge(Value(6, "s"), Value(24, "s", 24, inf), AtMost("a bound"))
    assert (found.kind, found.reason.partition(",")[0]) == ("not reproduced", "at least 24 s measured")
    assert judge(Value(30, "s"), Value(24, "s", 24, inf), AtMost("a bound")).kind == "inconclusive"


def test_exactly() -> None:
    exact = Exactly(because="a count")
    assert judge(Value(32, "B"), Value(32, "B"), exact).kind == "reproduced"
    assert judge(Value(32, "B"), Value(31, "B"), exact).kind == "not reproduced"


@pytest.mark.parametrize(
    ("tolerance", "measured", "kind"),
    [
        (AtLeast("a direction"), bps(100), "reproduced"),
        (AtLeast("a direction"), bps(900, 101, 1700), "reproduced"),
        (AtLeast("a direction"), bps(120, 90, 150), "inconclusive"),
        (AtLeast("a direction"), bps(99), "not reproduced"),
        (AtMost("a bound"), bps(1), "reproduced"),
        (AtMost("a bound"), bps(101), "not reproduced"),
    ],
)
def test_a_bound_has_one_side(tolerance: Tolerance, measured: Value, kind: str) -> None:
    assert judge(bps(100), measured, tolerance).kind == kind


def test_reason_holds_both_figures_and_the_tolerance() -> None:
    assert judge(bps(100e6), bps(94.4e6), FIVE).reason == "94.4 Mbit/s measured, 100 Mbit/s reported, within 5 %"


def test_units_are_not_mixed() -> None:
    with pytest.raises(UnitError, match="a measurement in s cannot be compared with a figure in bit/s"):
        judge(bps(1), Value(1, "s"), FIVE)
    with pytest.raises(UnitError, match="a measurement in bit/s cannot be compared with a figure without a unit"):
        judge(Value(941, "1"), bps(1), FIVE)


@pytest.mark.parametrize(
    ("predicted", "measured", "error"),
    [
        (bps(101), bps(100), 0.01),
        (bps(100), bps(101), -0.01),
        (bps(1), bps(2), -1.0),
        (bps(1.5, 1, 2), bps(1.9), 0.0),
        (bps(1.5, 1, 2), bps(4), -1.0),
        (bps(0), bps(0), 0.0),
        (bps(1), bps(0), None),
        (bps(10**308), bps(0.001), None),  # more than a number can be
        (None, bps(1), None),
        (bps(1), None, None),
    ],
)
def test_model_error(predicted: Value | None, measured: Value | None, error: float | None) -> None:
    assert model_error(predicted, measured) == (None if error is None else pytest.approx(error))


def test_untested_arms_keep_a_claim_from_being_reproduced() -> None:
    good, gone = Verdict("reproduced", "as it says"), Verdict("skipped", "not run")
    void, bad = Verdict("invalid", "wrong rate"), Verdict("not reproduced", "by far")
    assert combine([("a", good), ("b", good)]).kind == "reproduced"
    assert combine([("a", good), ("b", gone)]).kind == "skipped"
    assert combine([("a", good), ("b", void)]).kind == "invalid"
    assert combine([("a", good), ("b", void), ("c", bad)]).kind == "not reproduced"
    assert combine([]).kind == "skipped"


def said(figure: Value, part: str = "") -> Reported:
    return Reported(figure, "so it says", part)


def recorded(
    value: float,
    arm: str = "baseline",
    invalid: tuple[str, ...] = (),
    address: str = "a1",
    seed: int = 1,
    started: str = "",
) -> Any:
    trial = SimpleNamespace(key=CaseKey(arm), clock="virtual", seed=seed, repeat=0)
    return SimpleNamespace(trial=trial, value=bps(value), invalid=invalid, address=address, outputs={}, started=started)


def run(cases: list[Case], records: list[Any], made: str = "", untestable: tuple[Untestable, ...] = ()) -> Any:
    def predict(asked: Case, prediction: Prediction) -> Forecast:
        del asked
        return Forecast(prediction(101.0), made=made)

    return evaluate(cases, records, predict, "7.2", "virtual", untestable=untestable)


def test_plain_form_is_the_command_lines_contract() -> None:
    assert run([case()], [recorded(100)]).plain() == {
        "claim": "article/claim",
        "verdict": "reproduced",
        "reason": "baseline: 100 bit/s measured, 100 bit/s reported, within 5 %",
        "kernel": "7.2",
        "clock": "virtual",
        "parts": [],
        "results": [
            {
                "arm": "baseline",
                "point": "",
                "figure": "",
                "part": "",
                "reported": 100,
                "implied": None,
                "predicted": 101.0,
                "law": None,
                "measured": 100,
                "bound": "",
                "unit": "bit/s",
                "low": None,
                "high": None,
                "coverage": None,
                "valid": 1,
                "repeats": 1,
                "sensitivities": None,
                "model_error": pytest.approx(0.01),
                "standing": "off",
                "law_error": None,
                "prediction": "bps",
                "kind": "undeclared",
                "why_not_predicted": None,
                "why_no_law": None,
                "predicted_at": None,
                "after_the_fact": False,
                "verdict": "reproduced",
                "counts": True,
                "cause": None,
                "trials": ["a1"],
            }
        ],
        "predictions": [
            {
                "name": "bps",
                "kind": "undeclared",
                "formula": None,
                "source": None,
                "because": None,
                "law": None,
                "skill": None,
            }
        ],
    }


def test_a_zero_is_a_figure_and_nothing_is_null() -> None:
    result = run(
        [case(claimed=said(bps(0)), tolerance=Exactly(because="none")), case("other", claimed=None)], [recorded(0)]
    )
    zero, none = result.plain()["results"]
    assert (zero["reported"], zero["measured"]) == (0, 0)
    assert (none["reported"], none["measured"], none["model_error"]) == (None, None, None)


def test_a_law_is_asked_beside_a_simulation() -> None:
    paper = law(formula="x + 3", source="a napkin")(lambda x: bps(x + 3))
    replay = simulation(of="a kernel", law=paper)(bps)
    (result,) = run([case(prediction=replay)], [recorded(100)]).results
    assert (result.predicted, result.law) == (bps(101), bps(104))
    assert result.law_error == pytest.approx(0.04)
    double = case("double", prediction=replay, relative_to="baseline", claimed=said(Value(2, "1")))
    ratio = run([case(prediction=replay), double], [recorded(100), recorded(200, "double")]).results[1]
    assert (ratio.law, ratio.law_error) == (Value(1, "1"), pytest.approx(-1))


@pytest.mark.parametrize(
    ("made", "started", "late"),
    [("2026-01-02", "2026-01-01", True), ("2026-01-01", "2026-01-02", False), ("2026-01-01", "", False)],
)
def test_a_prediction_that_is_younger_than_its_trial_is_after_the_fact(made: str, started: str, late: bool) -> None:
    double = case("double", relative_to="baseline", claimed=Reported(Value(2, "1"), "twice"))
    records = [recorded(100, started=started), recorded(200, "double", started="2026-01-03")]
    results = run([case(), double], records, made).results
    assert [result.after_the_fact for result in results] == [late, late]
    assert results[0].predicted_at == made


def test_arms_that_explain_do_not_count() -> None:
    cases = [case(), case("era", explains=Demonstrated("the era's window"))]
    assert run(cases, [recorded(100), recorded(50, "era")]).verdict.kind == "reproduced"


def test_invalid_trials_do_not_count() -> None:
    spoilt = [recorded(50, invalid=("wrong rate",)), recorded(100, seed=2), recorded(100, seed=3)]
    most = run([case()], spoilt)
    assert most.verdict.kind == "reproduced"
    assert "(2 of 3 repeats count: wrong rate; " in most.verdict.reason
    assert (most.results[0].valid, most.results[0].repeats) == (2, 3)
    lucky = run([case()], [recorded(50, invalid=("wrong rate",)), recorded(100, seed=2)])
    assert (lucky.verdict.kind, lucky.results[0].measured) == ("invalid", None), "of one nobody knows its chance"
    only = run([case()], [recorded(100, invalid=("wrong rate",))])
    assert (only.verdict.kind, only.verdict.reason) == ("invalid", "baseline: wrong rate")
    assert only.results[0].measured is None


@pytest.mark.parametrize(
    ("asked", "valid", "kind"),
    [
        (1, 1, "reproduced"),
        (2, 1, "invalid"),  # a single one has no interval
        (3, 2, "reproduced"),
        (6, 3, "reproduced"),
        (6, 2, "invalid"),
        (7, 3, "invalid"),
    ],
)
@pytest.mark.parametrize("recorded_at_all", [True, False], ids=["spoilt", "without a record"])
def test_fewer_valid_repeats_than_asked_are_said_and_bounded(
    asked: int, valid: int, kind: str, recorded_at_all: bool
) -> None:
    left = range(valid, asked if recorded_at_all else valid)
    spoilt = [recorded(100, seed=seed, invalid=("wrong rate",)) for seed in left]
    result = run([case(samples=asked)], [*(recorded(100, seed=seed) for seed in range(valid)), *spoilt])
    assert result.verdict.kind == kind
    assert (f"{valid} of {asked} repeats count" in result.verdict.reason) == (valid < asked)
    assert {key: result.plain()["results"][0][key] for key in ("valid", "repeats")} == {
        "valid": valid,
        "repeats": asked,
    }


def test_real_time_that_nobody_watched_is_invalid() -> None:
    unwatched = recorded(100)
    unwatched.trial.clock = "real"
    assert run([case(clock="real")], [unwatched]).verdict == Verdict("invalid", f"baseline: {fidelity.UNWATCHED}")


def test_a_metric_or_a_model_that_fails_is_said() -> None:
    def fail(_: Any) -> Value:
        raise LabError("no capture")

    assert run([replace(case(), metric=fail)], [recorded(1)]).verdict == Verdict("invalid", "baseline: no capture")
    (result,) = run([case(prediction=declared(fail))], [recorded(100)]).results
    assert (result.predicted, result.why_not_predicted) == (None, "no capture")


def mistaken(_: Any) -> Value:
    raise KeyError("nothing")


MISTAKEN = f"test_verdict.py:{mistaken.__code__.co_firstlineno + 1}: KeyError: 'nothing'"


def test_a_mistake_in_a_metric_is_invalid_and_told_with_its_line() -> None:
    found = run([case(metric=mistaken)], [recorded(100)]).verdict
    assert found == Verdict("invalid", f"baseline: metric failed at {MISTAKEN}")


def test_a_mistake_in_a_prediction_is_told_with_its_line_and_hides_no_measurement() -> None:
    claim = run([case(prediction=declared(mistaken))], [recorded(100)])
    (result,) = claim.results
    assert claim.verdict.kind == "reproduced"
    assert result.measured == Value(100, "bit/s")
    assert (result.predicted, result.prediction_failed) == (None, True)
    assert result.why_not_predicted == f"prediction failed at {MISTAKEN}"


@pytest.mark.parametrize("wrong", [3, None, "94 Mbit/s"])
def test_what_returns_no_figure_is_told(wrong: Any) -> None:
    def figure(_: Any) -> Any:
        return wrong

    at = f"test_verdict.py:{figure.__code__.co_firstlineno}: TypeError"
    found = run([case(metric=figure)], [recorded(100)]).verdict
    assert found == Verdict("invalid", f"baseline: metric failed at {at}: it returned {wrong!r}, which is not a Value")
    (result,) = run([case(prediction=declared(figure))], [recorded(100)]).results
    assert result.measured == Value(100, "bit/s")
    assert result.why_not_predicted == f"prediction failed at {at}: figure returned {wrong!r}, which is not a Value"


@pytest.mark.parametrize(
    "error", [struct.error("cut"), zlib.error("not packed"), EOFError("cut"), OSError(5, "broken")]
)
def test_an_output_that_cannot_be_read_is_invalid_and_named(error: Exception) -> None:
    def stumbling(_: Any) -> Value:
        raise error

    found = run([case(metric=stumbling)], [recorded(100)]).verdict
    line = stumbling.__code__.co_firstlineno + 1
    said = f"metric failed at test_verdict.py:{line}: {type(error).__name__}: {error}"
    assert found == Verdict("invalid", f"baseline: {said}")


def test_what_was_not_run_is_skipped() -> None:
    assert run([case()], []).verdict == Verdict("skipped", "baseline: not run")


def test_an_arm_relative_to_another_has_ratios() -> None:
    half = case("half", claimed=said(Value(0.5, "1")), relative_to="baseline")
    result = run([case(claimed=None), half], [recorded(100, address="a1"), recorded(49, "half", address="a2")])
    assert result.verdict.kind == "reproduced"
    ratio = result.results[1]
    assert (ratio.measured, ratio.predicted, ratio.trials) == (Value(0.49, "1"), Value(1, "1"), ("a1", "a2"))
    assert [each.is_ratio for each in result.results] == [False, True]


def test_without_the_arm_that_it_is_relative_to_there_is_no_ratio() -> None:
    half = case("half", claimed=said(Value(0.5, "1")), relative_to="baseline")
    spoiled = [recorded(100, invalid=("wrong rate",)), recorded(49, "half")]
    assert run([case(claimed=None), half], spoiled).verdict == Verdict("invalid", "half: wrong rate")
    assert run([case(claimed=None), half], [recorded(49, "half")]).verdict.kind == "skipped"


@pytest.mark.parametrize(
    ("predicted", "measured", "off"),
    [
        (bps(100.4), [100], False),
        (bps(101), [100], True),
        (bps(101), [99, 101], False),  # the interval of the mean holds it
        (Value(100, "s"), [100], True),
        (None, [100], False),
    ],
)
def test_a_model_is_held_to_its_accuracy(predicted: Value | None, measured: list[float], off: bool) -> None:
    prediction = declared(lambda _: predicted) if predicted else None
    records = [recorded(each, seed=seed) for seed, each in enumerate(measured)]
    (result,) = run([case(prediction=prediction)], records).results
    assert result.model_is_off is off


@pytest.mark.parametrize(
    ("measured", "standing"),
    [
        ((100.9, 101, 101.1), "holds"),
        ((100, 101.5, 102.5), "undecided"),
        ((50, 60, 110), "undecided"),  # its mean is 38 % off, and so noisy that nobody can tell
        ((110, 111, 112), "off"),
    ],
)
def test_noise_protects_no_law(measured: tuple[float, ...], standing: str) -> None:
    """A law holds where all of the interval is within its accuracy, not where some of it is."""
    (result,) = run([case(samples=3)], [recorded(each, seed=seed) for seed, each in enumerate(measured)]).results
    assert (result.standing, result.model_is_off) == (standing, standing == "off")
    assert result.plain()["standing"] == standing


@pytest.mark.parametrize(("predicted", "error", "standing"), [(121.7, 0.217, "off"), (119, 0.19, "holds")])
def test_the_error_that_is_shown_is_the_one_that_is_judged(predicted: float, error: float, standing: str) -> None:
    """Both are of one base: a prediction 21.7 % above the measured figure is not within 20 % of it."""
    asked = case(prediction=declared(lambda _: bps(predicted)), accuracy=Within(0.2, because="it is rough"))
    (result,) = run([asked], [recorded(100)]).results
    assert (result.model_error, result.standing) == (pytest.approx(error), standing)


def test_a_prediction_may_be_an_interval() -> None:
    asked = case(prediction=declared(lambda _: bps(110, 100, 120)))
    for measured, error, standing in ((100, 0.0, "holds"), (119, 0.0, "holds"), (150, -0.25, "off")):
        (result,) = run([asked], [recorded(measured)]).results
        assert (result.model_error, result.standing) == (pytest.approx(error), standing)


def test_one_of_many_arms_may_be_out_by_chance() -> None:
    """Each arm's interval misses in one case of twenty: of eight arms, one does so in a third of all cases."""
    arms = [case(f"arm-{number}", samples=10) for number in range(8)]
    inside = [99.0, 100.5, 101.0, 100.0, 99.5, 100.2, 99.8, 100.4, 99.6, 100.1]
    outside = [each + 5.5 for each in inside]
    records = [recorded(each, arm.arm, seed=seed) for arm in arms[1:] for seed, each in enumerate(inside)]
    records += [recorded(each, "arm-0", seed=seed) for seed, each in enumerate(outside)]
    alone = run(arms[:1], records)
    assert alone.verdict.kind == "not reproduced"
    assert 0.05 / 8 < (alone.results[0].verdict.chance or 0) < 0.025
    found = run(arms, records)
    assert found.verdict.kind == "inconclusive"
    assert "one of 8 arms is as far out by chance" in found.verdict.reason
    far = [recorded(each + 8, "arm-0", seed=seed) for seed, each in enumerate(inside)]
    assert run(arms, [*records[:-10], *far]).verdict.kind == "not reproduced"


def test_a_share_is_judged_by_its_odds() -> None:
    """Within 10 % of 0.8 are 2.7 to 1 and 7.3 to 1."""
    for share, kind in ((0.85, "reproduced"), (0.88, "not reproduced"), (0.7, "not reproduced"), (0.74, "reproduced")):
        assert judge(Value(0.8, "1"), Value(share, "1"), Odds(1.5, because="so it says")).kind == kind
    with pytest.raises(ValueError, match="not a share"):
        Odds(1.5, because="so it says").bounds(Value(2, "1"))
    with pytest.raises(ValueError, match="above 1"):
        Odds(0.5, because="so it says")


def test_a_ratio_has_no_base_that_it_favours() -> None:
    least, most = FIVE.bounds(HUNDRED)
    assert HUNDRED.number / least == pytest.approx(most / HUNDRED.number)


def test_a_count_is_exact_and_real_time_is_nobodys_to_predict() -> None:
    count = case(accuracy=accuracy_for(Exactly(because="a count")))
    for asked, off in ((count, True), (replace(count, clock="real"), False), (case(), False)):
        assert run([asked], [recorded(101.1)]).results[0].model_is_off is off


ONE, TWO = (case(arm, claimed=said(HUNDRED, arm)) for arm in ("one", "two"))
BY_NATURE = Untestable("three", because="it is advice")


@pytest.mark.parametrize(
    ("measured", "untestable", "kind"),
    [
        ((100, 100), (), "reproduced"),
        ((100, 50), (), "partly"),
        ((50, 100), (), "partly"),
        ((50, 50), (), "not reproduced"),
        ((100, None), (), "skipped"),
        ((50, None), (), "not reproduced"),
        ((100, 100), (BY_NATURE,), "partly"),
        ((50, 50), (BY_NATURE,), "not reproduced"),
    ],
)
def test_parts_of_a_sentence_make_its_verdict(
    measured: tuple[float | None, ...], untestable: tuple[Untestable, ...], kind: str
) -> None:
    records = [recorded(value, arm) for arm, value in zip(("one", "two"), measured, strict=True) if value is not None]
    result = run([ONE, TWO], records, untestable=untestable)
    assert result.verdict.kind == kind
    assert [name for name, _ in result.parts] == ["one", "two", *(each.part for each in untestable)]
    assert all(name in result.verdict.reason for name, _ in result.parts)


def test_all_arms_of_a_part_count_for_it() -> None:
    again = case("again", claimed=said(HUNDRED, "one"))
    result = run([ONE, again, TWO], [recorded(100, "one"), recorded(50, "again"), recorded(100, "two")])
    assert result.verdict.kind == "partly"
    assert {name: verdict.kind for name, verdict in result.parts} == {"one": "not reproduced", "two": "reproduced"}
    assert [part["verdict"] for part in result.plain()["parts"]] == ["not reproduced", "reproduced"]


def test_what_is_not_testable_stays_so_whatever_its_arms_show() -> None:
    reading = case("reading", explains=Demonstrated("one reading"))
    for value in (50, 100):
        result = run([reading], [recorded(value, "reading")], untestable=(BY_NATURE,))
        assert (result.verdict.kind, result.verdict.reason) == (
            "not testable as stated",
            "three: not testable as stated (it is advice)",
        )
    assert run([reading], [], untestable=(BY_NATURE,)).verdict.kind == "skipped", "nothing was shown"


@pytest.mark.parametrize(
    ("cause", "measured", "bears_out"),
    [
        (Demonstrated("so"), 100, True),
        (Demonstrated("so"), 50, False),
        (Consistent("so", fitted=("a buffer",)), 100, True),
        (Refutes("not so"), 50, True),
        (Refutes("not so"), 100, False),
        (Consistent("so", assumed=("it",), between=("low", "high")), 80, True),
        (Consistent("so", assumed=("it",), between=("low", "low")), 80, False),
    ],
)
def test_a_cause_holds_if_its_witness_bears_it_out(cause: Cause, measured: float, bears_out: bool) -> None:
    ends = [case("low", claimed=None), case("high", claimed=None)]
    records = [recorded(100), recorded(measured, "era"), recorded(80, "low"), recorded(120, "high")]
    witness = run([case(), case("era", explains=cause), *ends], records).results[1]
    assert (witness.bears_out, witness.counts) == (bears_out, False)
    assert witness.plain()["cause"] == {
        "grade": cause.grade,
        "says": cause.says,
        "terms": cause.terms,
        "bears_out": bears_out,
    }


def test_an_implied_figure_is_none_that_was_reported() -> None:
    implied = case(claimed=Implied(HUNDRED, "half of 200"), tolerance=AtMost("a bound"))
    result = run([implied], [recorded(100)])
    assert "100 bit/s measured, 100 bit/s implied" in result.verdict.reason
    (plain,) = result.plain()["results"]
    assert (plain["reported"], plain["implied"], plain["bound"]) == (None, 100, "≤")


@pytest.mark.parametrize(
    ("tolerance", "no_effect", "effect"),
    [(Above(0.05, "more"), 1.0, 1.06), (Below(0.05, "less"), 1.0, 0.94), (Above(0, "more"), 1.0, 1.000001)],
)
def test_a_strict_bound_fails_where_there_is_no_effect(tolerance: Tolerance, no_effect: float, effect: float) -> None:
    one = Value(1, "1")
    assert judge(one, Value(no_effect, "1"), tolerance).kind == "not reproduced"
    assert judge(one, Value(effect, "1"), tolerance).kind == "reproduced"


@given(
    st.lists(st.sampled_from(["reproduced", "not reproduced", "not testable as stated", "inconclusive"]), min_size=1)
)
def test_no_order_of_parts_changes_the_verdict(kinds: list[Any]) -> None:
    parts = [(str(index), Verdict(kind, "so")) for index, kind in enumerate(kinds)]
    kind = sum_up(parts).kind
    assert kind == sum_up(parts[::-1]).kind
    assert (kind == "reproduced") is (set(kinds) == {"reproduced"})
    if kind == "partly":
        assert "reproduced" in kinds
