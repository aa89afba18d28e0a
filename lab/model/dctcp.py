"""Predict DCTCP with its paper's model: synchronised senders, whose windows oscillate around the marking threshold.

Source: Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010, sections 3.3 to 3.5. The model is valid for long
flows with equal round trips that send segment by segment, for a threshold at which the queue never runs empty, and for
windows of many segments.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from lab.model.line import base_rtt, frame, packet
from lab.model.mss import mss
from lab.model.scenario import ModelError, Scenario
from lab.spec.prediction import law
from lab.units import Duration, Size, Value

_MANY = 50  # segments: the sawtooth is then five segments; with 19 it is three, and each one matters
_GSO_BYTES = 64 << 10  # GSO_LEGACY_MAX_SIZE


class _Marking(NamedTuple):
    threshold: float  # K, in frames
    product: float  # C × RTT, in frames
    flows: int
    frame_seconds: float


@law(
    formula="(K + N − A / 2) / C, with A = ½ √(2 N (C × RTT + K))",
    source="DCTCP, SIGCOMM 2010, equations 8 to 10",
    long_run=True,
)
def dctcp_queue_delay(scenario: Scenario) -> Value:
    """The queue oscillates between its maximum (the threshold plus a segment per flow) and the maximum minus the
    amplitude.
    """
    found = _marking(scenario)
    _check_threshold(scenario, found)
    amplitude = sqrt(2 * found.flows * (found.product + found.threshold)) / 2
    return Value((found.threshold + found.flows - amplitude / 2) * found.frame_seconds, "s")


@law(formula="√(2 / W), with W = (C × RTT + K) / N", source="DCTCP, SIGCOMM 2010, equation 6", long_run=True)
def dctcp_marked_share(scenario: Scenario) -> Value:
    """In each sawtooth, the segments of one round trip are marked.

    A single burst crosses the threshold. For windows of few segments, the terms that the equation omits are not
    negligible.
    """
    found = _marking(scenario)
    if (window := (found.product + found.threshold) / found.flows) < _MANY:
        raise ModelError(f"the window is {window:.3g} segments: the law is for {_MANY} and more")
    if _burst(scenario) > 1:
        raise ModelError("the senders' offload sends bursts, which cross the threshold: the law is for single segments")
    return Value(sqrt(2 / window), "1")


def _check_threshold(scenario: Scenario, found: _Marking) -> None:
    """Raise ModelError if the queue runs empty: section 3.4, with section 3.5's allowance for bursts."""
    burst = _burst(scenario)
    least = found.product / 7 + (burst if burst > 1 else 0)
    if found.threshold < least:
        raise ModelError(
            f"the threshold is {found.threshold:.3g} frames: the law is for C × RTT / 7 and a burst, {least:.3g}"
        )


def _burst(scenario: Scenario) -> int:
    """Return the number of segments that a sender's offload may send at once."""
    flows = [flow.scenario for flow in scenario.flows if flow.scenario.writer.congestion == "dctcp"]
    return max(each.sender.interface.gso_max_segs or _GSO_BYTES // mss(each) for each in flows)


def _marking(scenario: Scenario) -> _Marking:
    flows = sum(flow.scenario.writer.congestion == "dctcp" for flow in scenario.flows)
    if not flows:
        raise ModelError("no flow has DCTCP: the law is for DCTCP flows, beside which nothing sends much")
    queued = [hop for hop in scenario.forward if hop.queue and hop.rate]
    if len(queued) != 1 or queued[0].queue is None or "ce_threshold" not in dict(queued[0].queue.parameters):
        raise ModelError("the law is for a path with one queue that marks from a threshold on")
    rate = queued[0].rate
    assert rate is not None
    seconds = float(rate.time_for(frame(scenario)))
    threshold = Duration.of(str(dict(queued[0].queue.parameters)["ce_threshold"])).seconds
    rtt = base_rtt(scenario, packet(scenario), Size(64)).number
    return _Marking(threshold / seconds, rtt / seconds, flows, seconds)
