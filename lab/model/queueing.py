"""What any queue does to those who wait in it, whatever drops or marks there."""

from __future__ import annotations

from lab.model.line import ModelError
from lab.model.scenario import Scenario
from lab.prediction import law
from lab.units import Duration, Rate, Size, Value


def queue_delay(backlog: Size, rate: Rate) -> float:
    """Return the seconds that a frame waits behind a `backlog` of bytes on the wire: Little's law, W = L / lambda.

    J. D. C. Little, "A Proof for the Queuing Formula: L = lambda W", 1961. It holds for averages of any queue, and for
    each frame of one that is first come, first served.
    """
    return float(rate.time_for(backlog))


def jain(shares: list[float]) -> float:
    """Return Jain's index of fairness: 1 where all have the same, 1/n where one has all.

    Jain, Chiu and Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984.
    """
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


@law(formula="R × (delay there + delay back)", source="RFC 7323, 1.1: the bandwidth-delay product")
def bdp(scenario: Scenario) -> Value:
    """As many bytes are on their way when the path is full and its queue is empty. Valid for a rate that stays."""
    if scenario.rate is None:
        raise ModelError("no link of the path has a rate: there is no bandwidth-delay product")
    delay = Duration(scenario.delay.ns + scenario.reversed().delay.ns)
    return Value(scenario.rate.bps * delay.seconds / 8, "B")


@law(formula="K > R × RTT / 7", source="Alizadeh and others, Data Center TCP (DCTCP), SIGCOMM 2010, section 3.4")
def dctcp_threshold(scenario: Scenario) -> Value:
    """A threshold of more than a seventh of the BDP keeps a link full under DCTCP.

    Valid for senders in step with one another, of which each has a window of many segments.
    """
    return Value(bdp(scenario).number / 7, "B")
