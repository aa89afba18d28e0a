"""Predict how long a transfer of a given size takes, from the first SYN to the last byte read."""

from __future__ import annotations

from math import ceil, log2

from lab.model.goodput import goodput_window_over_rtt, stays_busy, undropped
from lab.model.handshake import handshake
from lab.model.line import base_rtt, frame
from lab.model.mss import mss
from lab.model.scenario import ModelError, Scenario
from lab.model.transfer import REPLAYED, transfer
from lab.spec.prediction import law, simulation
from lab.units import Value

_INITIAL_WINDOW = 10  # segments: RFC 6928


@law(formula="RTT × (1 + rounds of slow start) + rest / goodput", source="RFC 5681, 3.1; RFC 6928; RFC 6349, 3.3.1")
def transfer_time_by_rounds(scenario: Scenario) -> Value:
    """The handshake takes a round trip, and so does each round of slow start until the window allows the full goodput.

    The window starts at ten segments and doubles every round. The rest is sent at a goodput of window / RTT.
    """
    if scenario.writer.size is None:
        raise ModelError("the workload has no size")
    rtt, goodput = base_rtt(scenario).number, goodput_window_over_rtt(scenario).number / 8
    rest, burst, rounds = scenario.writer.size, _INITIAL_WINDOW * mss(scenario), 0
    while burst < min(goodput * rtt, rest):
        rest, burst, rounds = rest - burst, 2 * burst, rounds + 1
    return Value(rtt * (1 + rounds) + rest / goodput, "s")


@law(formula="RTT × (1 + ⌈log2(segments / 10 + 1)⌉) + last burst / rate", source="RFC 6928; RFC 5681, 3.1")
def completion_time_by_rounds(scenario: Scenario) -> Value:
    """A short transfer takes its handshake plus a round trip per round of slow start, until all segments are sent.

    The window starts at ten segments and doubles every round. The client fetches, so the first segments arrive a round
    trip after the client's ACK has left. The law holds while the link is idle between bursts, and only the congestion
    window limits the sender.
    """
    if scenario.writer.size is None or scenario.client != "receiver":
        raise ModelError("the law is for a client that fetches a known size")
    segments = -(-scenario.writer.size // mss(scenario))
    rounds = ceil(log2(segments / _INITIAL_WINDOW + 1))
    last = segments - _INITIAL_WINDOW * (2 ** (rounds - 1) - 1)
    rtt = base_rtt(scenario).number
    burst = last * 8 * frame(scenario).bytes / scenario.rate.bps if scenario.rate else 0.0
    if burst > rtt or last * mss(scenario) > goodput_window_over_rtt(scenario).number / 8 * rtt:
        raise ModelError("the link or a window is full before the transfer ends: the law is for short transfers")
    return Value(rtt * (1 + rounds) + burst, "s")


@simulation(of=REPLAYED, law=transfer_time_by_rounds)
def transfer_time(scenario: Scenario) -> Value:
    """The time is the sum of handshake, slow start and the rest, on a path without loss or with an always busy link."""
    done = transfer(scenario)
    if not stays_busy(scenario, done):
        done = undropped(scenario)
    return Value(handshake(scenario).sender / 1e9 + done.drained, "s")
