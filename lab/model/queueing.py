"""What any queue does to those who wait in it, whatever drops or marks there."""

from __future__ import annotations

from lab.model.line import ModelError, frame
from lab.model.scenario import Scenario
from lab.prediction import Prediction, law
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


def mean_wait(load: float) -> Prediction:
    """Return the law of the mean wait of frames that come by chance, at a load of so much of the rate.

    Raises ValueError for a load that no queue can stand, or none.
    """
    if not 0 < load < 1:
        raise ValueError(f"a load of {load:g} leaves no queue of a mean length: it is above 0 and below 1")

    @law(
        formula="load / (1 − load) × frame / (2 × rate)", source="Erlang (1909); Pollaczek (1930) and Khinchine (1932)"
    )
    def wait(scenario: Scenario) -> Value:
        """In M/D/1 a frame finds half of one on its way, where there is one, and those that came before it.

        It holds for frames of one size, as long as the path takes; for arrivals that know nothing of one another
        (Poisson's); where nothing is dropped; and for the mean of a time much longer than frame / rate / (1 − load)².
        """
        if scenario.rate is None:
            raise ModelError("no link of the path has a rate: nothing waits")
        return Value(load / (1 - load) * float(scenario.rate.time_for(frame(scenario))) / 2, "s")

    return wait
