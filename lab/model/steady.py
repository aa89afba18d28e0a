"""Predict a bulk transfer after slow start, without loss."""

from __future__ import annotations

from lab.model.goodput import goodput_window_over_rtt, undropped
from lab.model.line import goodput_line_rate, segment_rtt
from lab.model.scenario import ModelError, Scenario
from lab.model.transfer import REPLAYED
from lab.model.window import window_plateau
from lab.spec.prediction import law, simulation
from lab.units import Value


@simulation(of=REPLAYED, law=goodput_window_over_rtt)
def goodput_steady(scenario: Scenario) -> Value:
    """In the second half of the transfer, the windows of both ends and the link limit the acknowledged data.

    A send buffer passes two thirds of its size per round trip. The writer sleeps until a third is free
    (sk_stream_write_space), and the last third becomes free only after the ACKs of a round trip.
    """
    done = undropped(scenario)
    half = done.seconds / 2
    return Value(8 * (done.acked(done.seconds) - done.acked(half)) / half, "bit/s")


@law(
    formula="1 − min(rwnd, sndbuf) / (R × RTT), with R the goodput of a full link", source="RFC 6349, 3.3.1; IEEE 802.3"
)
def idle_share_of_window(scenario: Scenario) -> Value:
    """The link is idle for the part of a round trip that the window does not fill."""
    return Value(1 - goodput_window_over_rtt(scenario).number / goodput_line_rate(scenario).number, "1")


@simulation(of=REPLAYED, law=idle_share_of_window)
def idle_share(scenario: Scenario) -> Value:
    """The idle share is the part of a full link that the steady goodput does not use.

    A sender that waits for room for a burst makes the round trip slightly longer than the path's own round trip.
    """
    return Value(max(0.0, 1 - goodput_steady(scenario).number / goodput_line_rate(scenario).number), "1")


@simulation(of=REPLAYED, law=window_plateau)
def window_reached(scenario: Scenario) -> Value:
    """The advertised window follows the bytes that the reader takes per round trip, up to the plateau."""
    done = undropped(scenario)
    if done.grows():
        raise ModelError("the advertised window still grows in the second half of the transfer: it has no plateau")
    return Value(done.acks[2][-1], "B")


@law(formula="delays + frame / rate of each hop, both ways", source="a full segment there, its ACK back")
def round_trip(scenario: Scenario) -> Value:
    """A full segment and its ACK take the idle path's delays and serialisation. The hosts add nothing."""
    return segment_rtt(scenario)
