"""RED's marking curve: how many packets are marked, or dropped, at an average queue.

Valid while the average queue stays put between the thresholds, with a marking probability that is not adapted.
"""

from __future__ import annotations

from lab.units import Size


def marking_probability(average: float, least: Size, most: Size, highest: float) -> float:
    """Return p_b at an average queue in bytes: none below `least`, rising to `highest` at `most`, all from there on.

    Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, section 4.
    """
    if average < least.bytes:
        return 0.0
    if average >= most.bytes:
        return 1.0
    return highest * (average - least.bytes) / (most.bytes - least.bytes)


def marked_share(average: float, least: Size, most: Size, highest: float) -> float:
    """Return the share of packets that are marked at that average queue.

    The distance from one mark to the next is drawn evenly from 1 to 1 / p_b, so that marks do not come in bunches: its
    mean is 1 / (2 p_b) + 1 / 2 (ibidem, section 7, method 2).
    """
    probability = marking_probability(average, least, most, highest)
    return 2 * probability / (1 + probability)
