"""Predict those effects of queues that do not depend on the rules for drops and marks."""

from __future__ import annotations

from lab.model.line import frame
from lab.model.scenario import ModelError, Scenario
from lab.spec.prediction import Prediction, law
from lab.units import Duration, Value


@law(formula="R × (delay there + delay back)", source="RFC 7323, 1.1: the bandwidth-delay product")
def bdp(scenario: Scenario) -> Value:
    """This many bytes are in flight when the path is full and its queue is empty. The law is valid for a constant
    rate.
    """
    if scenario.rate is None:
        raise ModelError("no link of the path has a rate: there is no bandwidth-delay product")
    delay = Duration(scenario.delay.ns + scenario.reversed().delay.ns)
    return Value(scenario.rate.bps * delay.seconds / 8, "B")


@law(formula="K > R × RTT / 7", source="Alizadeh and others, Data Center TCP (DCTCP), SIGCOMM 2010, section 3.4")
def dctcp_threshold(scenario: Scenario) -> Value:
    """A threshold of more than a seventh of the BDP keeps a link full under DCTCP.

    The law is valid for synchronised senders with windows of many segments.
    """
    return Value(bdp(scenario).number / 7, "B")


def mean_wait(load: float) -> Prediction:
    """Return the law for the mean wait of frames that arrive at random, at this load on the link.

    Raises ValueError unless the load is above 0 and below 1.
    """
    if not 0 < load < 1:
        raise ValueError(f"a load of {load:g} gives no mean queue: use a load above 0 and below 1")

    @law(
        formula="load / (1 − load) × frame / (2 × rate)",
        source="Erlang (1909); Pollaczek (1930) and Khinchine (1932)",
        long_run=True,
    )
    def wait(scenario: Scenario) -> Value:
        """In M/D/1, a frame waits for half of the frame on the wire, if there is one, and for all earlier frames.

        The law holds for full frames of one size and independent arrivals (Poisson), if nothing is dropped, and for the
        mean over a time much longer than frame / rate / (1 − load)².
        """
        if scenario.rate is None:
            raise ModelError("no link of the path has a rate: nothing waits")
        return Value(load / (1 - load) * float(scenario.rate.time_for(frame(scenario))) / 2, "s")

    return wait
