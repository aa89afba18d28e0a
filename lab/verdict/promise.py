"""What real time promises, in one place: the thresholds of `lab.verdict.fidelity` follow from it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PROMISE", "Promise"]


@dataclass(frozen=True, slots=True)
class Promise:
    """A trial that counts kept this: its goodput is within a share of itself, its median RTT within some time.

    The trial has to show it: one that breaks the promise passes with a chance of `doubt` at most.
    """

    share: float = 0.01  # of goodput, and so of the time in which the machine was away
    rtt: float = 0.2e-3  # seconds
    doubt: float = 0.05
    # Where a network costs nothing but CPU, being away is a cost that has a bound, and figures are known to that. The
    # bound is wrong with a chance of `rare` at most; above `most` a trial would show the machine and not the network.
    rare: float = 0.01
    most: float = 0.2


PROMISE = Promise()
