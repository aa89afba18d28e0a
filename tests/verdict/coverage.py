"""How often intervals of means hold the true mean: of ten distributions, at several sizes of samples.

`python -m tests.verdict.coverage` prints the table of docs/statistics.md. The arithmetic is that of
`lab.verdict.interval`, for thousands of samples at once; the tests hold the two to be the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from math import exp
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.verdict import interval

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

SIZES, RUNS, BATCH = (6, 10, 30), 4000, 500
DISTRIBUTIONS: Mapping[str, tuple[Draw, float]] = {  # name -> what draws from it, and its mean
    "normal": (lambda chance, size: chance.normal(5, 1, size), 5),
    "uniform": (lambda chance, size: chance.uniform(0, 1, size), 0.5),
    "Student's t, 3 degrees": (lambda chance, size: chance.standard_t(3, size), 0),
    "two modes": (lambda chance, size: 4.0 * (chance.random(size) < 0.5) + chance.normal(0, 1, size), 2),
    "one figure in ten is an outlier": (
        lambda chance, size: 4.0 * (chance.random(size) < 0.1) + chance.normal(0, 1, size),
        0.4,
    ),
    "beta (5, 1), a share near 1": (lambda chance, size: chance.beta(5, 1, size), 5 / 6),
    "gamma (4)": (lambda chance, size: chance.gamma(4, 1, size), 4),
    "Poisson (3), a count": (lambda chance, size: chance.poisson(3, size).astype(float), 3),
    "exponential": (lambda chance, size: chance.exponential(1, size), 1),
    "lognormal (1)": (lambda chance, size: chance.lognormal(0, 1, size), exp(0.5)),
}


def intervals(figures: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends for many samples, one a row."""
    count = figures.shape[1]
    centre = figures.mean(axis=1)
    off = figures - centre[:, None]
    error = np.sqrt((off**2).sum(axis=1) / (count * (count - 1)))
    drawn = np.array([np.bincount(places, minlength=count) for places in interval._places(count)], float)
    means = off @ drawn.T / count
    squares = np.maximum(off**2 @ drawn.T - count * means**2, 0)
    errors = np.sqrt(squares / (count * (count - 1)))
    varies = errors > 1e-7 * error[:, None]
    known = varies.sum(axis=1)
    student, doubt = interval.student(count - 1), (1 - interval.NOMINAL) / 2
    ends = [
        np.clip(np.ceil(share * (known + 1)).astype(int), 1, np.maximum(known, 1)) - 1 for share in (1 - doubt, doubt)
    ]
    draws = np.where(varies, means / np.where(varies, errors, 1), np.inf)
    draws.partition(np.unique(ends), axis=1)  # the places that matter are as in the sorted row
    high, low = (np.take_along_axis(draws, at[:, None], axis=1)[:, 0] for at in ends)
    return centre - np.maximum(student, high) * error, centre + np.maximum(student, -low) * error


@cache  # the same figures every time, for the promise and for the table of the documentation
def coverage(name: str, count: int, runs: int = RUNS) -> dict[str, float]:
    """Return in which share of samples Student's interval alone, and the verdict's, hold the true mean."""
    draw, true = DISTRIBUTIONS[name]
    chance, student, held = np.random.default_rng(count), 0, 0
    for _ in range(runs // BATCH):
        figures = draw(chance, (BATCH, count))
        low, high = intervals(figures)
        held += int(((low <= true) & (true <= high)).sum())
        half = interval.student(count - 1) * figures.std(axis=1, ddof=1) / count**0.5
        student += int((abs(figures.mean(axis=1) - true) <= half).sum())
    return {"student": student / runs, "verdict": held / runs}


def table() -> str:
    """Return the table of the documentation."""
    head = ["distribution", *(f"{size} figures" for size in SIZES)]
    rows: list[list[Any]] = [head, ["---"] * len(head)]
    for name in DISTRIBUTIONS:
        found = [coverage(name, size) for size in SIZES]
        rows.append([name, *(f"{100 * each['verdict']:.1f} ({100 * each['student']:.1f})" for each in found)])
    rows.append(["stated: at least", *(f"{100 * interval.covers(size):.0f}" for size in SIZES)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
