"""What a prediction is worth beside one figure for all arms, and on which inputs it rests."""

from __future__ import annotations

from math import sqrt
from types import SimpleNamespace
from typing import Any

import pytest

from lab import model
from lab.guest.task import Writer
from lab.model.sensitivity import sensitivities
from lab.units import Value
from lab.verdict.skill import skills
from tests.model.scenarios import hop, scenario


def results(*pairs: tuple[float, float]) -> Any:
    law = SimpleNamespace(name="law")
    return [
        SimpleNamespace(prediction=law, predicted=Value(predicted, "s"), measured=Value(measured, "s"))
        for predicted, measured in pairs
    ]


@pytest.mark.parametrize(
    ("pairs", "skill"),
    [
        (((1, 1), (4, 4)), 1.0),
        (((2, 1), (2, 4)), 0.0),  # one figure for all
        (((4, 1), (1, 4)), -3.0),  # the wrong way round
        (((1, 1), (2, 4)), 0.5),
    ],
)
def test_skill_is_over_the_best_figure_for_all(pairs: tuple[tuple[float, float], ...], skill: float) -> None:
    assert skills(results(*pairs)) == {"law": pytest.approx(skill)}


def test_a_prediction_of_equal_figures_shows_no_skill() -> None:
    """Ten arms at half of a link each agree with a law that says one half, and with anybody's guess."""
    assert skills(results(*[(0.5, 0.501)] * 10)) == {}
    assert skills(results((0, 0), (1, 1))) == {}, "a figure of 0 has no ratio"


def test_the_square_root_law_rests_on_loss_and_delay() -> None:
    lossy = scenario(
        hop("100 Mbit/s", "10 ms", loss=0.01), hop("100 Mbit/s", "10 ms"), writer=Writer(congestion="reno")
    )
    found = sensitivities(model.goodput_response_reno, lossy)
    assert found["loss"] == -0.5
    assert found["delay"] == pytest.approx(-0.99, abs=0.01)
    assert abs(found.get("rate", 0)) < 0.02, "but for what a frame takes on the wire"
    assert model.goodput_response_reno(lossy).number == pytest.approx(1448 * 8 * sqrt(150) / 0.0201, rel=0.02)


def test_a_simulation_and_a_figure_that_rests_on_nothing_have_none() -> None:
    plain = scenario(hop("100 Mbit/s", "10 ms"))
    assert sensitivities(model.goodput_bulk, plain) == {}
    assert sensitivities(model.header_share, plain) == {}
    assert sensitivities(model.goodput_response_reno, plain) == {}, "outside its range it has no slope"
