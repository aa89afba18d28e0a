"""Jitter by distribution: tables from the definitions, and the delays of frames.

Chance is held to intervals that a right distribution leaves once in 10,000 times; each case has its seed.
"""

from __future__ import annotations

import array
import hashlib
import math
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from statistics import NormalDist, fmean, pstdev
from typing import Any

import pytest

from lab.guest.fabric import distribution
from lab.guest.network import DISTRIBUTIONS, Distribution
from lab.units import Duration
from tests.guest.fabric.conftest import Case, Streams
from tests.guest.fabric.test_random import APART_NS, COUNT, KS, MS, SENDS, SIGMAS, by_chance, delays

SPREAD = math.sqrt(3) / 2  # the standard deviation of Pareto's distribution with shape 3, whose mean is 1.5
CDFS: Mapping[str, Callable[[float], float]] = {  # of a delay, in deviations from the mean
    "normal": NormalDist().cdf,
    "pareto": lambda z: max(0.0, 1 - max(1.0, 1.5 + SPREAD * z) ** -3),
}
# How many draws are more than one deviation late: 1 - Phi(1); Pareto's tail at 1.5 + SPREAD; and what 0.25 and 0.75
# of the two quantiles, in their own deviations, make of it.
LATE = {"normal": 0.158655, "pareto": (1.5 + SPREAD) ** -3, "paretonormal": 0.0948}


def way(name: str, **more: Any) -> dict[str, Any]:
    return {"delay": "100 ms", "jitter": {"deviation": "10 ms", "distribution": name, **more}}


CASES = {
    **{name: Case(way(name), SENDS) for name in DISTRIBUTIONS},
    **{f"{name} in order": Case(way(name, in_order=True), SENDS) for name in (*DISTRIBUTIONS, "uniform")},
    "uniform": Case(way("uniform"), SENDS),
    "rate": Case({**way("normal"), "rate": "100 Mbit/s"}, SENDS),
    "file": Case(way("two.dist"), SENDS, files={"two.dist": "# two delays\n-8192 -8192\n -8192 16384\n"}),
}


@pytest.fixture(scope="module")
def came(streams: Streams) -> dict[str, Any]:
    found = streams(CASES)
    assert [each["differences"] for each in found.values()] == [[]] * len(found)
    return found


def late(case: Mapping[str, Any]) -> list[float]:
    """Deviations by which each frame is later than the mean delay."""
    return [(each - 100 * MS) / (10 * MS) for each in delays(case)]


@pytest.mark.guest
@pytest.mark.parametrize("name", CDFS)
def test_delays_have_their_distribution(came: dict[str, Any], name: str) -> None:
    """Kolmogorov's distance from the definition."""
    places = [CDFS[name](each) for each in sorted(late(came[name]))]
    assert len(places) == COUNT
    assert max(max((n + 1) / COUNT - place, place - n / COUNT) for n, place in enumerate(places)) < KS / COUNT**0.5


@pytest.mark.guest
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_share_of_frames_that_are_a_deviation_late(came: dict[str, Any], name: str) -> None:
    """For normal, 15.9 % beyond one sigma. The mean is the delay."""
    found = late(came[name])
    assert by_chance(sum(each > 1 for each in found), COUNT, LATE[name])
    assert fmean(found) == pytest.approx(0, abs=SIGMAS / COUNT**0.5)


@pytest.mark.guest
@pytest.mark.parametrize("name", [*DISTRIBUTIONS, "uniform"])
def test_frames_in_order_wait_for_those_before(came: dict[str, Any], name: str) -> None:
    """With the same draws, each frame comes when it would have come, or with the latest frame before it."""
    free = [sent[0] + delay for sent, delay in zip(SENDS, delays(came[name]), strict=True)]
    assert any(after < before for before, after in pairwise(free)), "without in_order, frames overtake others"
    ordered = came[f"{name} in order"]["came"]
    assert [number for _, number in ordered] == list(range(COUNT))
    assert [at for at, _ in ordered] == pytest.approx(list(accumulate(free, max)), abs=1000)


@pytest.mark.guest
def test_a_rate_keeps_frames_in_order(came: dict[str, Any]) -> None:
    assert [number for _, number in came["rate"]["came"]] == list(range(COUNT))


@pytest.mark.guest
def test_a_file_has_its_own_delays(came: dict[str, Any]) -> None:
    """Four numbers, of which netem draws each equally often."""
    found = [round(each) for each in late(came["file"])]
    assert set(found) == {-1, 2}
    assert by_chance(found.count(2), COUNT, 1 / 4)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_table_has_a_mean_of_zero_and_a_deviation_of_one(name: str) -> None:
    numbers = in_deviations(name)
    assert len(numbers) == 2**14, "so that 2^32 draws fall evenly on them"
    assert fmean(numbers) == pytest.approx(0, abs=1e-5)
    assert pstdev(numbers) == pytest.approx(1, abs=1e-5)
    assert numbers == sorted(numbers)
    early, late_ = distribution.reach(Distribution(name), Duration(10**6))
    assert (early.ns, late_.ns) == (math.ceil(-numbers[0] * 10**6), math.ceil(numbers[-1] * 10**6))


@pytest.mark.parametrize(("name", "error"), [("normal", 0.001), ("pareto", 0.025)])
def test_a_tables_quantiles_are_as_exact_as_the_guide_states(name: str, error: float) -> None:
    """The quantiles from 1 to 99 %, against the definition's, in deviations."""
    numbers = in_deviations(name)
    exact = NormalDist().inv_cdf if name == "normal" else lambda u: ((1 - u) ** (-1 / 3) - 1.5) / SPREAD
    for percent in range(1, 100):
        wanted = exact(percent / 100)
        assert numbers[percent * 2**14 // 100] == pytest.approx(wanted, rel=error, abs=0.01)


@pytest.mark.parametrize(
    ("name", "digest"),
    [("normal", "484810821f998f90"), ("pareto", "24cefd3ccd688b60"), ("paretonormal", "37269e84af6306b3")],
)
def test_a_table_is_the_same_on_every_machine(name: str, digest: str) -> None:
    """The bytes of trials depend on it. No number is so near to the middle of two that a last digit decides."""
    assert hashlib.sha256(distribution.table(Distribution(name))).hexdigest()[:16] == digest
    means = {"normal": distribution._normal, "pareto": distribution._pareto, "paretonormal": distribution._mixed}
    scaled = distribution._standardised(list(means[name]()))
    stretch = stretch_of(name)
    assert min(abs((each * 8192 / stretch) % 1 - 0.5) for each in scaled) > 1e-7


def stretch_of(name: str) -> int:
    return distribution.stretched(Distribution(name), Duration(1)).ns


def in_deviations(name: str) -> list[float]:
    numbers = array.array("h", distribution.table(Distribution(name)))
    return [each * stretch_of(name) / 8192 for each in numbers]


def test_frames_are_closer_together_than_their_delays_vary() -> None:
    """Otherwise, no frame could overtake another."""
    assert APART_NS < MS
