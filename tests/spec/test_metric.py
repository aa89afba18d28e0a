"""A metric is declared: it has the name, unit and sentence of its maker, and what that was given."""

from __future__ import annotations

import inspect
from math import inf

import pytest

from lab import metric
from lab.metric import DeclaredMetric, MetricError
from lab.spec.metric import Measure, described, measures
from lab.units import Value


@pytest.mark.parametrize(
    ("made", "call", "unit"),
    [
        (metric.bulk_goodput(), "bulk_goodput()", "bit/s"),
        (metric.message_latency(0.05), "message_latency(quantile=0.05)", "s"),
        (metric.any_drops("router"), "any_drops(link='router', way='forward')", "1"),
        (metric.lone_acks("host"), "lone_acks(node='host')", "1"),
        (metric.ack_delay("max", skip=16), "ack_delay(node='receiver', skip=16, which='max')", "s"),
        (metric.of_flow("a", metric.flow_share("b", 1, 2)), "of_flow(end=2, name='a', start=1)", ""),
    ],
)
def test_a_metric_has_its_makers_name_and_what_it_was_given(made: DeclaredMetric, call: str, unit: str) -> None:
    assert made.call() == call
    assert made.unit == unit
    assert made.about


def test_the_innermost_metric_is_the_one_that_measures() -> None:
    assert metric.of_flow("a", metric.bulk_goodput()).innermost.name == "bulk_goodput"
    assert metric.bulk_goodput().innermost.name == "bulk_goodput"


@pytest.mark.parametrize(
    ("made", "limits"),
    [
        (metric.jain_index(), (0, 1)),
        (metric.of_flow("a", metric.flow_share("b")), (0, 1)),
        (metric.bulk_goodput(), (0, inf)),
        (metric.program_json("difference"), (-inf, inf)),
        (described(lambda _: Value(-1, "1")), (-inf, inf)),
    ],
)
def test_a_metric_knows_which_figures_are_possible(made: DeclaredMetric, limits: tuple[float, float]) -> None:
    assert made.limits == limits


@pytest.mark.parametrize(
    ("made", "unit"),
    [
        (metric.bulk_goodput(), "bit/s"),
        (metric.jain_index(), "1"),
        (metric.of_flow("a", metric.ping_rtt()), "s"),
        (metric.program_json("x"), "1"),
        (metric.program_json("x", unit="Mbit/s"), "bit/s"),
        (metric.of_flow("a", metric.program_match("(x)", unit="ms")), "s"),
        (described(lambda _: Value(1, "B")), ""),
    ],
)
def test_a_metric_declares_the_unit_of_its_figures(made: DeclaredMetric, unit: str) -> None:
    assert made.measures_in == unit


def test_another_unit_than_the_declared_one_is_refused() -> None:
    @measures("s")
    def broken() -> Measure:
        """Measure nothing."""
        return lambda _: Value(1, "B")

    with pytest.raises(MetricError, match="broken is declared in s, but measured 1 B"):
        broken()(None)


def test_an_experiments_own_function_is_described_too() -> None:
    def mine(_: object) -> Value:
        """Measure mine. And more."""
        return Value(1, "1")

    assert (described(mine).name, described(mine).about) == (
        "test_an_experiments_own_function_is_described_too",
        "Measure mine",
    )


def test_all_metrics_are_declared() -> None:
    makers = [getattr(metric, name) for name in metric.__all__]
    made = [
        each for each in makers if inspect.isfunction(each) and "Measure" in str(each.__annotations__.get("return"))
    ]
    assert len(made) > 50
    assert all(hasattr(each, "__wrapped__") for each in made)
