"""Define the promise of real time in one place. The thresholds of `lab.verdict.fidelity` follow from the promise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """A valid trial kept this promise: the goodput changed by at most `share`, and the median RTT by at most `rtt`.

    The trial must show that it kept the promise. A trial that breaks the promise passes with a probability of at most
    `doubt`.
    """

    share: float = 0.01  # of goodput, and so of the time in which the machine was busy elsewhere
    rtt: float = 0.2e-3  # seconds
    doubt: float = 0.05
    # If a network costs only CPU time, other work of the machine is a cost with a bound, and figures are uncertain by
    # it. The bound is wrong with a probability of at most `rare`. Above `most`, a trial would show the machine and not
    # the network.
    rare: float = 0.01
    most: float = 0.2


PROMISE = Promise()
