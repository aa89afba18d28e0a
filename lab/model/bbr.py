"""Predict the data that BBR has in flight, from BBR's own bound, which does not depend on the queue."""

from __future__ import annotations

from math import ceil

from lab.guest.network import Change, Direction
from lab.model.line import base_rtt, frame, packet
from lab.model.mss import mss
from lab.model.scenario import ModelError, Scenario
from lab.spec.prediction import replay
from lab.units import Size, Value

_CWND_GAIN, _PROBING_GAIN = 2, 1.25  # bbr_cwnd_gain; the largest of bbr_pacing_gain[]
_PACING_SHIFT = 1024  # a quantum is what the pacing rate sends in this fraction of a second (sk_pacing_shift)
_LEAST_QUANTUM, _QUANTA = 2, 3  # segments, bbr_min_tso_segs(); bbr_quantization_budget()
_PROBING, _DELAYED = 2, 2  # extra segments in the cycle's first phase, and for what one ACK may cover beyond the rate


@replay(
    formula="2 × R × RTT + 3 × quantum + 4",
    source="BBR, ACM Queue 14(5), 2016: cwnd_gain; bbr_quantization_budget()",
    covers=("changes",),
)
def bbr_inflight_bound(scenario: Scenario) -> Value:
    """BBR has at most twice the path's capacity in flight, plus three bursts of the sender's offload, in segments.

    The bound holds for a single flow after its start, in which the gain is 2.89. The flow must know the rate from the
    last ten round trips and the idle path's round trip from the last ten seconds. If another flow keeps the queue
    filled, BBR mistakes the queue for a part of the path. If the path's rate falls, the bound is that of the rate
    before. The bound does not hold for other changes of the path.
    """
    flows = [flow.scenario for flow in scenario.flows] or [scenario]
    if len(flows) > 1 or flows[0].writer.congestion != "bbr":
        raise ModelError("the bound is for a single flow with BBR that is alone on the path")
    if scenario.rate is None:
        raise ModelError("no link of the path has a rate: there is no bandwidth-delay product")
    for hop in (*scenario.forward, *scenario.reverse):
        if not all(_only_slows(hop, each) for each in hop.changes):
            raise ModelError("the bound is for a path whose rate only falls, and that does not change otherwise")
    rate = scenario.rate.bps / 8 / frame(scenario).bytes  # segments a second
    rtt = base_rtt(scenario, packet(scenario), Size(64)).number
    quantum = max(_LEAST_QUANTUM, int(_PROBING_GAIN * rate * packet(scenario).bytes / _PACING_SHIFT / mss(scenario)))
    held = ceil(_CWND_GAIN * rate * rtt) + _DELAYED + _QUANTA * quantum
    return Value(held + held % 2 + _PROBING, "1")


def _only_slows(hop: Direction, change: Change) -> bool:
    """Return whether a change sets a rate that is not above the hop's first one, and nothing else."""
    return change == Change(change.at, change.rate) and not (hop.rate and change.rate and change.rate > hop.rate)
