"""Correct the p-values of several tests that are judged together."""

from __future__ import annotations

from collections.abc import Sequence

LEVEL = 0.05  # of error in the tests of one claim or of one run, together


def holm(tests: Sequence[float]) -> list[float]:
    """Return the p-values of several tests, corrected with the method of Holm (1979), in the given order.

    A corrected p is the probability of any error among the tests. The smallest p is multiplied by the number of tests,
    the next by the number of tests minus one, and so on. No corrected p is less than the previous one.
    """
    corrected, least = [1.0] * len(tests), 0.0
    for done, which in enumerate(sorted(range(len(tests)), key=tests.__getitem__)):
        least = max(least, min(1.0, tests[which] * (len(tests) - done)))
        corrected[which] = least
    return corrected
