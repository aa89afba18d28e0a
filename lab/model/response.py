"""Predict the goodput of a long transfer with random losses: the response functions of Reno and CUBIC."""

from __future__ import annotations

from math import sqrt

from lab.model.line import goodput_line_rate, segment_rtt
from lab.model.mss import mss
from lab.model.scenario import ModelError, Scenario
from lab.model.window import smaller_window
from lab.spec.prediction import law
from lab.units import Value

MOST_LOSS = 0.0201  # above this, timeouts matter, which neither law covers (Padhye et al., 1998)


def window_reno(loss: float) -> float:
    """Return Reno's mean window in segments: the square root of 3 / 2p, with one ACK per segment or with byte
    counting.
    """
    return sqrt(1.5 / loss)


def window_cubic(loss: float, rtt: float) -> float:
    """Return CUBIC's mean window in segments: 1.054 (RTT / p)^(3/4), or Reno's window if it is larger (RFC 9438, 5)."""
    return max(1.054 * float((rtt / loss) ** 0.75), window_reno(loss))


@law(formula="MSS × √(3 / 2p) / RTT", source="Mathis, Semke, Mahdavi and Ott (1997), equation 3", long_run=True)
def goodput_response_reno(scenario: Scenario) -> Value:
    """A window that loses every 1/p-th segment oscillates between W and W/2: Reno's square root law."""
    return _goodput(scenario, window_reno(_loss(scenario, "reno")))


@law(formula="MSS × 1.054 (RTT / p)^¾ / RTT, or as Reno if that is more", source="RFC 9438, section 5", long_run=True)
def goodput_response_cubic(scenario: Scenario) -> Value:
    """A window that loses every 1/p-th segment grows with the cube of the time since a loss, and falls to 0.7 of its
    size.
    """
    return _goodput(scenario, window_cubic(_loss(scenario, "cubic"), segment_rtt(scenario).number))


def _goodput(scenario: Scenario, window: float) -> Value:
    size = window * mss(scenario)
    if size > smaller_window(scenario):
        raise ModelError("the buffers are smaller than the window that the loss would leave")
    goodput = 8 * size / segment_rtt(scenario).number
    if scenario.rate and goodput > 0.8 * goodput_line_rate(scenario).number:
        raise ModelError("the link is nearly full and drops frames: the law is for random losses only")
    return Value(goodput, "bit/s")


def _loss(scenario: Scenario, congestion: str) -> float:
    if scenario.flows:
        raise ModelError("several flows share the path: the law is for a single flow")
    if (found := scenario.writer.congestion) != congestion:
        raise ModelError(f"the sender's congestion control is {found}: the law is for {congestion}")
    if not 0 < scenario.loss < MOST_LOSS:
        raise ModelError(f"{100 * scenario.loss:g} % of frames are lost: the law is for a loss above 0 and up to 2 %")
    return scenario.loss
