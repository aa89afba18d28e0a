"""Predict how flows share a bottleneck: each flow's share of the goodput, and the goodput of all flows together."""

from __future__ import annotations

from lab.guest.network import Direction
from lab.model.line import base_rtt, frame, goodput_line_rate
from lab.model.ranges import check_no_empty_queue, check_windows, is_fifo
from lab.model.scenario import ModelError, Scenario
from lab.spec.prediction import law
from lab.units import Duration, Size, Value

_ADDITIVE = {"None", "cubic", "dctcp", "reno"}  # None is the host's default, CUBIC
_TARGET = 0.005  # seconds, for CoDel and the queues that use it; PIE's is longer


@law(
    formula="1 / n",
    source="Chiu and Jain (1989): additive increase, multiplicative decrease converges to equal shares",
    long_run=True,
)
def fair_share(scenario: Scenario) -> Value:
    """Each of n flows gets an equal share if all have the same congestion control and equal round trips.

    The law holds in the long run, over times much longer than a flow needs to grow back after a cut.
    """
    _equal(scenario)
    return Value(1 / len(scenario.flows), "1")


@law(formula="1", source="Jain, Chiu and Hawe (1984); Chiu and Jain (1989)", long_run=True)
def fairness_index(scenario: Scenario) -> Value:
    """Jain's index is 1 because all shares are equal, under the conditions of `fair_share`."""
    _equal(scenario)
    return Value(1.0, "1")


@law(formula="rate × payload / frame", source="IEEE 802.3; RFC 791, 8200, 9293, 7323", long_run=True)
def total_goodput(scenario: Scenario) -> Value:
    """All flows together fill the bottleneck, as long as its queue never runs empty."""
    _several(scenario)
    hop = bottleneck(scenario)
    check_no_empty_queue(scenario, hop, longest_wait(scenario, hop))
    return goodput_line_rate(scenario)


def bottleneck(scenario: Scenario) -> Direction:
    """Return the slowest hop of the forward path. Raises ModelError if no hop has a rate."""
    if scenario.rate is None:
        raise ModelError("no link of the path has a rate: nothing queues")
    return next(hop for hop in scenario.forward if hop.rate == scenario.rate)


def longest_wait(scenario: Scenario, hop: Direction) -> float:
    """Return the wait, in seconds, in the hop's full queue, or the longest wait that its controller permits."""
    assert hop.rate is not None
    given = dict(hop.queue.parameters) if hop.queue else {}
    if not is_fifo(hop):
        asked = given.get("ce_threshold", given.get("target"))
        return Duration.of(str(asked)).seconds if asked is not None else _TARGET
    size = frame(scenario).bytes
    if hop.queue:
        held = int(given["limit"]) * size if hop.queue.kind == "pfifo" else Size.of(str(given["limit"])).bytes
        return 8 * held / hop.rate.bps
    in_flight = hop.delay.seconds  # the wire's limit counts queued frames and frames in flight
    return max(8 * hop.limit * size / hop.rate.bps - in_flight, 0.0)


def _several(scenario: Scenario) -> None:
    if len(scenario.flows) < 2:
        raise ModelError("a single flow shares nothing")


def _equal(scenario: Scenario) -> None:
    _several(scenario)
    kinds = {str(flow.scenario.writer.congestion) for flow in scenario.flows}
    if len(kinds) > 1:
        raise ModelError(f"the flows' congestion control differs ({', '.join(sorted(kinds))}): the law is for one")
    if not kinds <= _ADDITIVE:
        raise ModelError(f"{', '.join(kinds - _ADDITIVE)} has no additive increase: the law is for flows with it")
    if len({base_rtt(flow.scenario).number for flow in scenario.flows}) > 1:
        raise ModelError("the flows' round trips differ: the law is for equal round trips")
    check_windows(scenario, longest_wait(scenario, bottleneck(scenario)))
