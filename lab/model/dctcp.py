"""Predict DCTCP by its own paper's model: senders in step, whose windows saw about the threshold of a marking queue.

Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010, sections 3.3 and 3.4. It is valid for long flows of equal
round trips, for a threshold at which the link never runs empty, and for windows of many segments.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from lab.model.line import ModelError, base_rtt, frame, packet
from lab.model.scenario import Scenario
from lab.prediction import law
from lab.units import Duration, Size, Value

__all__ = ["dctcp_marked_share", "dctcp_queue_delay"]


class _Marking(NamedTuple):
    threshold: float  # K, in frames, as the next two
    product: float  # C × RTT
    flows: int
    frame_seconds: float


@law(formula="(K + N − A / 2) / C, with A = ½ √(2 N (C × RTT + K))", source="DCTCP, SIGCOMM 2010, equations 8 to 10")
def dctcp_queue_delay(scenario: Scenario) -> Value:
    """The queue saws between its most, the threshold and a segment of each flow, and that less the amplitude."""
    found = _marking(scenario)
    amplitude = sqrt(2 * found.flows * (found.product + found.threshold)) / 2
    return Value((found.threshold + found.flows - amplitude / 2) * found.frame_seconds, "s")


@law(formula="√(2 / W), with W = (C × RTT + K) / N", source="DCTCP, SIGCOMM 2010, equation 6")
def dctcp_marked_share(scenario: Scenario) -> Value:
    """Of all segments, those of one round trip in each sawtooth are marked."""
    found = _marking(scenario)
    return Value(sqrt(2 * found.flows / (found.product + found.threshold)), "1")


def _marking(scenario: Scenario) -> _Marking:
    flows = sum(flow.scenario.writer.congestion == "dctcp" for flow in scenario.flows)
    if not flows:
        raise ModelError("no flow has DCTCP: the law is for flows of it, beside which nothing sends much")
    queued = [hop for hop in scenario.forward if hop.queue and hop.rate]
    if len(queued) != 1 or queued[0].queue is None or "ce_threshold" not in dict(queued[0].queue.parameters):
        raise ModelError("the law is for a path with one queue that marks from a threshold on")
    rate = queued[0].rate
    assert rate is not None
    seconds = float(rate.time_for(frame(scenario)))
    threshold = Duration.of(str(dict(queued[0].queue.parameters)["ce_threshold"])).seconds
    rtt = base_rtt(scenario, packet(scenario), Size(64)).number
    return _Marking(threshold / seconds, rtt / seconds, flows, seconds)
