"""Compute RED's marking curve: the share of packets that it marks or drops at an average queue.

The curve is valid while the average queue is constant and between the thresholds, with a fixed marking probability.
"""

from __future__ import annotations

from lab.units import Size


def marking_probability(average: float, least: Size, most: Size, highest: float) -> float:
    """Return p_b at an average queue in bytes: 0 below `least`, rising to `highest` at `most`, and 1 above `most`.

    Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, section 4.
    """
    if average < least.bytes:
        return 0.0
    if average >= most.bytes:
        return 1.0
    return highest * (average - least.bytes) / (most.bytes - least.bytes)


def marked_share(average: float, least: Size, most: Size, highest: float) -> float:
    """Return the share of packets that RED marks at that average queue.

    RED draws the distance between marks uniformly from 1 to 1 / p_b, so that marks do not cluster. The mean distance is
    1 / (2 p_b) + 1 / 2 (same source, section 7, method 2).
    """
    probability = marking_probability(average, least, most, highest)
    return 2 * probability / (1 + probability)
