"""PIE's steady state: traffic that does not answer is dropped down to the rate, and the delay stays at the target.

Valid once the controller has settled, which takes some hundreds of its updates.
"""

from __future__ import annotations

from lab.units import Duration, Rate

TARGET = Duration.of("15 ms")  # RFC 8033, 4.2


def drop_probability(offered: Rate, rate: Rate) -> float:
    """Return the share of packets dropped: what is offered beyond the rate.

    The controller adds alpha x (delay - target) + beta x (delay - delay before) to the probability (RFC 8033, 4.2), so
    it rests only where the delay is the target and does not move: where as much leaves as comes.
    """
    return max(0.0, 1 - rate.bps / offered.bps)
