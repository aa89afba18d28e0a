"""A prediction says what its figure rests on, and is called like the function that it was made of."""

import inspect

import pytest

from lab import model
from lab.spec.prediction import Prediction, declared, definition, law, simulation
from lab.units import Value

PREDICTIONS = [each for each in vars(model).values() if isinstance(each, Prediction)]


@law(formula="a + b", source="Euclid")
def total(about: tuple[int, int]) -> Value:
    """The total of both."""
    return Value(sum(about), "1")


def count(about: tuple[int, int]) -> Value:
    return Value(sum(about), "1")


def test_it_is_called_like_its_function_and_explains_itself_like_it() -> None:
    assert total((1, 2)) == Value(3, "1")
    assert (total.name, inspect.getdoc(total)) == ("total", "The total of both.")


def test_each_kind_tells_what_it_rests_on() -> None:
    counted = simulation(of="an abacus", law=total)(count)
    so = definition(because="one is one")(count)
    plain = declared(lambda _: Value(1, "1"))
    assert total.basis == "a + b (Euclid)"
    assert [each.kind for each in (total, counted, so, plain)] == ["law", "simulation", "definition", "undeclared"]
    assert "abacus" in counted.basis
    assert so.basis == "one is one"
    assert counted.plain() == {
        "name": "count",
        "kind": "simulation",
        "formula": None,
        "source": "an abacus",
        "because": None,
        "law": "total",
    }


def test_a_simulation_has_a_law_or_the_reason_why_not() -> None:
    assert simulation(of="dice", no_law="chance has no closed form")(count).because == "chance has no closed form"
    with pytest.raises(ValueError, match="needs the law"):
        simulation(of="dice")
    with pytest.raises(ValueError, match="needs the law"):
        simulation(of="dice", law=total, no_law="chance")


def test_what_is_declared_stays_so() -> None:
    assert declared(total) is total


def test_all_that_the_models_predict_says_its_kind() -> None:
    rest = [name for name, each in vars(model).items() if inspect.isroutine(each)]
    made_of = {
        "base_rtt",
        "codel_drops",
        "exchange",
        "transfer",
        "window_cubic",
        "window_reno",
    }
    # a prediction, or its figure, of what they are given
    makes = {
        "convergence_at_full_queue",
        "mean_wait",
        "share_at_full_queue_in",
        "share_beside_bbr_in",
        "share_by_chance_in",
        "share_of_fair_queue",
        "timed",
    }
    assert set(rest) == made_of | makes
    assert {each.kind for each in PREDICTIONS} == {"law", "replay", "simulation", "definition"}


def test_each_model_has_what_its_kind_needs() -> None:
    needed = {
        "law": {"formula", "source"},
        "replay": {"formula", "source"},
        "simulation": {"source", "law"},
        "definition": {"because"},
    }
    for prediction in PREDICTIONS:
        said = {key for key, text in prediction.plain().items() if text}
        assert said == {"name", "kind", *needed[prediction.kind]}, prediction.name
        assert prediction.law is None or prediction.law.kind == "law", prediction.name
