"""netem's correlated losses and its gap, compared frame by frame with the kernel's arithmetic, and with its law."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.guest.fabric.conftest import Case, Streams
from tests.guest.fabric.test_random import COUNT, MS, SENDS, SIGMAS, by_chance, delays, percent

LOSSES = ((0.1, 0.25), (0.3, 0.5), (0.5, 0.9), (0.1, 0.9))
FORGOTTEN = 300  # frames after which the first draw has no effect; only the kernel knows this draw
GAPS = ((1.0, 5), (0.25, 5), (0.5, 2))
CASES = {
    **{
        f"loss {loss} {rho}": Case({"loss": percent(loss), "loss_correlation": percent(rho)}, SENDS)
        for loss, rho in LOSSES
    },
    **{
        f"gap {share} {gap}": Case({"delay": "1 s", "reorder": percent(share), "reorder_gap": gap}, SENDS, drain_s=2)
        for share, gap in GAPS
    },
}


@pytest.fixture(scope="module")
def came(streams: Streams) -> dict[str, Any]:
    found = streams(CASES)
    assert [each["differences"] for each in found.values()] == [[]] * len(found)
    return found


def draws(seed: int) -> Iterator[int]:
    """The kernel's generator: prandom_seed_state() of linux/prandom.h and prandom_u32_state() of lib/random32.c."""
    mask = 2**32 - 1
    folded = ((seed >> 32) ^ (seed << 10) ^ seed) & mask
    state = [folded + least if folded < least else folded for least in (2, 8, 16, 128)]
    words = ((6, 13, 4294967294, 18), (2, 27, 4294967288, 2), (13, 21, 4294967280, 7), (3, 12, 4294967168, 13))
    while True:
        for index, (a, b, c, d) in enumerate(words):
            s = state[index]
            state[index] = (((s & c) << d) & mask) ^ ((((s << a) & mask) ^ s) >> b)
        yield state[0] ^ state[1] ^ state[2] ^ state[3]


def correlated(seed: int, rho: float, count: int) -> list[int]:
    """get_crandom() of net/sched/sch_netem.c: each draw is a mean of a new one and of the draw before."""
    weight, last, found = round(rho * (2**32 - 1)) + 1, 0, []
    for _, value in zip(range(count), draws(seed), strict=False):
        last = (value * (2**32 - weight) + last * weight) >> 32
        found.append(last)
    return found


def share(loss: float, rho: float, steps: int = 4000) -> float:
    """How many frames are lost in the long run, if each draw is x' = (1 - rho) u + rho x, with u even from 0 to 1.

    The distribution of x reproduces itself: F(x) is the mean over u of F((x - (1 - rho) u) / rho).
    """
    grid = np.linspace(0, 1, steps + 1)
    uniform = (np.arange(steps // 8) + 0.5) / (steps // 8)
    below = grid.copy()
    ends = np.clip((grid[:, None] - (1 - rho) * uniform[None, :]) / rho, 0, 1)
    for _ in range(max(20, math.ceil(10 / (1 - rho)))):
        below = np.interp(ends, grid, below).mean(axis=1)
    return float(np.interp(loss, grid, below))


def seed_of(case: Mapping[str, Any]) -> int:
    (wire,) = (each for each in case["qdiscs"] if each["direction"] == "forward" and each["kind"] == "netem")
    return int(wire["options"]["seed"], 16)


@pytest.mark.guest
@pytest.mark.parametrize(("loss", "rho"), LOSSES)
def test_each_correlated_loss_is_the_kernels(came: dict[str, Any], loss: float, rho: float) -> None:
    case = came[f"loss {loss} {rho}"]
    arrived = {number for _, number in case["came"]}
    threshold = round(loss * (2**32 - 1))
    drawn = correlated(seed_of(case), rho, COUNT)
    lost = {number for number, value in enumerate(drawn) if value <= threshold}
    assert {each for each in range(COUNT) if each not in arrived and each >= FORGOTTEN} == {
        each for each in lost if each >= FORGOTTEN
    }


@pytest.mark.guest
@pytest.mark.parametrize(("loss", "rho"), LOSSES)
def test_a_correlation_changes_how_many_are_lost(came: dict[str, Any], loss: float, rho: float) -> None:
    lost, wanted = COUNT - len(came[f"loss {loss} {rho}"]["came"]), share(loss, rho)
    free = COUNT * (1 - rho) / (1 + rho)  # correlated frames count like fewer independent ones
    assert abs(lost / COUNT - wanted) <= SIGMAS * math.sqrt(max(wanted * (1 - wanted), 1e-4) / free)


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "rho", "percent_"),
    [(0.1, 0.1, 5.6), (0.1, 0.25, 1.75), (0.3, 0.25, 23.3), (0.01, 0.25, 0), (0.5, 0.9, 50)],
)
def test_the_guides_shares(loss: float, rho: float, percent_: float) -> None:
    wanted, count = share(loss, rho), 100_000
    assert 100 * wanted == pytest.approx(percent_, abs=0.06)
    found = np.mean([value <= loss * 2**32 for value in correlated(7, rho, count)[FORGOTTEN:]])
    free = count * (1 - rho) / (1 + rho)
    assert abs(found - wanted) <= SIGMAS * math.sqrt(max(wanted * (1 - wanted), 1e-4) / free)


@pytest.mark.guest
@pytest.mark.parametrize(("share_", "gap"), GAPS)
def test_a_gap_decides_how_many_frames_do_not_overtake(came: dict[str, Any], share_: float, gap: int) -> None:
    """After gap - 1 frames, each is drawn, until one overtakes. So one in gap - 1 + 1 / share does in the long run."""
    early = [number for number, each in enumerate(delays(came[f"gap {share_} {gap}"])) if each < MS]
    apart = [after - before for before, after in pairwise([-1, *early])]
    assert min(apart) == gap
    if share_ == 1:
        assert set(apart) == {gap}
    else:
        drawn = sum(each - (gap - 1) for each in apart)
        assert by_chance(len(early), drawn, share_)
        assert len(early) / COUNT == pytest.approx(1 / (gap - 1 + 1 / share_), rel=0.1)
