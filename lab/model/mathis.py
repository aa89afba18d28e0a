"""What loss leaves of a Reno sender's goodput: the square root law."""

from __future__ import annotations

from math import sqrt

from lab.model.line import ModelError, base_rtt, goodput_line_rate, packet
from lab.model.mss import mss
from lab.model.scenario import Scenario
from lab.prediction import law
from lab.units import Size, Value

C = sqrt(3 / 2)  # with every segment acknowledged and periodic losses; delayed ACKs make it sqrt(3/4)
MOST_LOSS = 0.02  # beyond it timeouts count, which the law leaves out


@law(formula="(MSS / RTT) × √(3/2) / √p", source="Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997, equation 3")
def goodput_by_loss(scenario: Scenario) -> Value:
    """A Reno sender's window saws between W/2 and W, and each saw loses one segment.

    Valid for losses one by one, up to 2 %, which keep the window below what buffers and the link allow.
    """
    if not 0 < scenario.loss <= MOST_LOSS:
        raise ModelError(f"the path loses {scenario.loss:.3%}: the law holds for losses up to 2 %")
    size = mss(scenario)
    rtt = base_rtt(scenario, packet(scenario), Size(packet(scenario).bytes - size)).number
    goodput = 8 * size / rtt * C / sqrt(scenario.loss)
    if goodput > goodput_line_rate(scenario).number:
        raise ModelError("so little loss leaves the link full: the law holds below the link's rate")
    return Value(goodput, "bit/s")
