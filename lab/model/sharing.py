"""Predict how flows share a bottleneck: what each gets of all goodput, and what all of them get together."""

from __future__ import annotations

from lab.model.line import ModelError, base_rtt, frame, goodput_line_rate
from lab.model.scenario import Flow, Scenario
from lab.prediction import law
from lab.units import Value

__all__ = ["fair_share", "fairness_index", "share_by_rtt", "total_goodput"]


@law(
    formula="1 / n", source="Chiu and Jain (1989): additive increase, multiplicative decrease converges to equal shares"
)
def fair_share(scenario: Scenario) -> Value:
    """Each of n flows gets an equal share, where all have one congestion control, and round trips of one length.

    It holds in the long run: for times much longer than what a flow needs to grow back after it had to give way.
    """
    _equal(scenario)
    return Value(1 / len(scenario.flows), "1")


@law(formula="1", source="Jain, Chiu and Hawe (1984); Chiu and Jain (1989)")
def fairness_index(scenario: Scenario) -> Value:
    """Jain's index is 1 where all shares are equal, under the conditions of `fair_share`."""
    _equal(scenario)
    return Value(1.0, "1")


@law(formula="rate × payload / frame", source="IEEE 802.3; RFC 791, 8200, 9293, 7323")
def total_goodput(scenario: Scenario) -> Value:
    """All flows together fill the bottleneck, as long as its queue never runs empty."""
    _several(scenario)
    return goodput_line_rate(scenario)


@law(formula="1 / Σ (RTT of the first / RTT)²", source="Lakshman and Madhow (1997), with synchronised losses")
def share_by_rtt(scenario: Scenario) -> Value:
    """The first flow's share of all goodput, where goodputs are as the inverse squares of round trips.

    Flows that lose together, when a tail-drop queue is full, have windows that grow with 1 / RTT between their losses,
    and their rates are windows over RTT. It holds for additive increase (Reno). Round trips are those of the idle path
    with half of the bottleneck's queue, which saws between empty and full where that holds one bandwidth-delay product.
    """
    _several(scenario)
    if any(flow.scenario.writer.congestion != "reno" for flow in scenario.flows):
        raise ModelError("the windows of some flow do not grow by a segment in a round trip: the law is for Reno's")
    trips = [_sawing_rtt(flow) for flow in scenario.flows]
    return Value(1 / sum((trips[0] / each) ** 2 for each in trips), "1")


def _sawing_rtt(flow: Flow) -> float:
    scenario = flow.scenario
    if scenario.rate is None:
        raise ModelError("no link of the path has a rate: nothing queues")
    bottleneck = next(hop for hop in scenario.forward if hop.rate == scenario.rate)
    in_flight = bottleneck.delay.seconds  # the limit counts what is queued and what is on its way
    queue = bottleneck.limit * 8 * frame(scenario).bytes / scenario.rate.bps - in_flight
    return base_rtt(scenario).number + max(queue, 0.0) / 2


def _several(scenario: Scenario) -> None:
    if len(scenario.flows) < 2:
        raise ModelError("one flow shares with nobody")


def _equal(scenario: Scenario) -> None:
    _several(scenario)
    kinds = {str(flow.scenario.writer.congestion) for flow in scenario.flows}
    if len(kinds) > 1:
        raise ModelError(f"the flows' congestion control differs ({', '.join(sorted(kinds))}): the law is for equals")
    if len({base_rtt(flow.scenario).number for flow in scenario.flows}) > 1:
        raise ModelError("the flows' round trips differ: the law is for equal ones")
