"""Compute PIE's steady state: PIE drops the excess of unresponsive traffic, and the delay stays at the target.

The result is valid after the controller has settled, which takes a few hundred updates.
"""

from __future__ import annotations

from lab.units import Duration, Rate

TARGET = Duration.of("15 ms")  # RFC 8033, 4.2


def drop_probability(offered: Rate, rate: Rate) -> float:
    """Return the share of packets that PIE drops: the excess over the rate.

    The controller adds alpha x (delay - target) + beta x (delay - previous delay) to the probability (RFC 8033, 4.2).
    So the probability is constant only if the delay is constant and at the target, and packets leave as fast as they
    arrive.
    """
    return max(0.0, 1 - rate.bps / offered.bps)
