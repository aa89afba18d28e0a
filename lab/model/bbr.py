"""Predict how much BBR has in flight: its own bound, which holds whatever the queue would take."""

from __future__ import annotations

from math import ceil

from lab.model.line import ModelError, base_rtt, frame, packet
from lab.model.mss import mss
from lab.model.scenario import Scenario
from lab.prediction import law
from lab.units import Size, Value

__all__ = ["bbr_inflight_bound"]

_CWND_GAIN, _PROBING_GAIN = 2, 1.25  # bbr_cwnd_gain; the largest of bbr_pacing_gain[]
_PACING_SHIFT = 1024  # a quantum is what the pacing rate sends in so many parts of a second (sk_pacing_shift)
_LEAST_QUANTUM, _QUANTA = 2, 3  # segments, bbr_min_tso_segs(); bbr_quantization_budget()
_PROBING, _DELAYED = 2, 2  # segments more in the cycle's first phase; what one ACK may cover beyond the rate


@law(formula="2 × R × RTT + 3 × quantum + 4", source="BBR, ACM Queue 14(5), 2016: cwnd_gain; bbr_quantization_budget()")
def bbr_inflight_bound(scenario: Scenario) -> Value:
    """BBR has twice what the path holds in flight at most, in segments, and three bursts as the sender's offload makes.

    It holds for one flow after its start, whose gain is 2.89, and where it knows the rate and the idle path's round
    trip: it has seen the one in the last ten round trips, and the other in the last ten seconds. Beside a flow that
    keeps the queue filled, it takes that queue for a part of the path.
    """
    flows = [flow.scenario for flow in scenario.flows] or [scenario]
    if len(flows) > 1 or flows[0].writer.congestion != "bbr":
        raise ModelError("the bound is that of one flow with BBR alone on the path")
    if scenario.rate is None:
        raise ModelError("no link of the path has a rate: there is no bandwidth-delay product")
    rate = scenario.rate.bps / 8 / frame(scenario).bytes  # segments a second
    rtt = base_rtt(scenario, packet(scenario), Size(64)).number
    quantum = max(_LEAST_QUANTUM, int(_PROBING_GAIN * rate * packet(scenario).bytes / _PACING_SHIFT / mss(scenario)))
    held = ceil(_CWND_GAIN * rate * rtt) + _DELAYED + _QUANTA * quantum
    return Value(held + held % 2 + _PROBING, "1")
