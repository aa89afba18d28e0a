"""Laws of one flow over the judge's path, with which tests compute the figures in laws.yaml and in the guides."""

from __future__ import annotations

from math import sqrt

PAYLOAD = 1448 / 1538
PACKETS = 12e6 / (8 * 1538)  # per second
PATH, RTT = 40, 0.0412  # packets, seconds
RENO, CUBIC = 0.5, 0.7  # the part of a window that is left after a loss
FRIENDLY = 3 * (1 - CUBIC) / (1 + CUBIC)  # packets per round trip
SLOW = 2e6 / (8 * 1538)
HELD = SLOW * 0.0462  # packets on the path of 2 Mbit/s


def sawtooth(top: float, left: float, path: float = PATH) -> float:
    """Utilisation of a window between left x top and top, which grows by the same number of packets each round trip."""
    return PAYLOAD * (1 - (path - left * top) ** 2 / (2 * path * top * (1 - left)))


def probing(seconds: float) -> float:
    """Utilisation of BBR with one ProbeRTT in this time."""
    return PAYLOAD * (1 - (0.2 + RTT) * (1 - 4 / PATH) / seconds)


def queue(mean: float, path: float = PATH, rate: float = PACKETS) -> float:
    """Seconds of queue of this mean window."""
    return (mean - path) / rate


def slow_growth(start: float, growth: float) -> float:
    """Goodput after the rate has grown to 20 Mbit/s, from this window on, in six seconds."""
    missing, window = 0.0, start
    while window < 67:
        missing, window = missing + 67 - window, window + growth
    return 20e6 * PAYLOAD * (1 - missing / (6 * 20e6 / (8 * 1538)))


def policed(growth: float, left: float, tokens: float = 40) -> float:
    """Share of lost packets at a bucket of tokens, for a window that grows by this many packets each round trip."""
    top = PATH + sqrt(2 * tokens * growth)
    assert (PATH - left * top) ** 2 / (2 * growth) >= tokens, "the bucket is full again"
    sent = top * (1 - left) / growth * top * (1 + left) / 2
    return (top - PATH) / (sent + top - PATH)
