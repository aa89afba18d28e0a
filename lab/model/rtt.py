"""Predict round trips: the number of samples, their accuracy, and the round-trip time with a full window."""

from __future__ import annotations

from lab.model.line import base_rtt, goodput_line_rate
from lab.model.mss import ip_header, mss
from lab.model.scenario import ModelError, Scenario
from lab.model.window import gso_segments, rcv_window
from lab.spec.prediction import definition, law
from lab.units import Size, Value

_TICK = 0.001  # seconds of Linux's timestamp clock: TCP_TS_HZ is 1000
_PACING, _PACING_SHARE, _MIN_TSO_SEGS = 1.2, 1 << 10, 2  # tcp_pacing_ca_ratio, sk_pacing_shift, tcp_min_tso_segs
_ECHO_DATA, _ICMP = 56, 8  # bytes of an echo request's data by default, ping(8), and of its header


@definition(because="the metric counts an echoed timestamp as a sample, and every such ACK echoes one")
def rtt_for_new_data(scenario: Scenario) -> Value:
    """The figure is 1 with timestamps: an ACK of new data echoes the last sending time of that data (RFC 7323 4.1)."""
    if not scenario.timestamps:
        raise ModelError("there are no timestamps to echo")
    return Value(1, "1")


@definition(because="the metric counts an echoed timestamp as a sample, and without loss every ACK echoes one")
def rtt_per_ack(scenario: Scenario) -> Value:
    """The figure is 1 without loss: every ACK acknowledges new data. With loss, duplicate ACKs do not (RFC 7323
    4.1).
    """
    if scenario.loss:
        raise ModelError("a loss causes as many duplicate ACKs as its window has: the figure is for no loss")
    return rtt_for_new_data(scenario)


@definition(because="the metric takes no other sample of a retransmitted segment than an echoed timestamp")
def rtt_despite_retransmission(scenario: Scenario) -> Value:
    """The figure is 1 with timestamps, whose echo tells transmissions apart, else 0: Karn's rule (RFC 6298 3)."""
    return Value(int(scenario.timestamps), "1")


@law(formula="0, as srtt is 7/8 of itself and 1/8 of each sample", source="RFC 6298, 2.3; tcp_rtt_estimator()")
def srtt_difference(scenario: Scenario) -> Value:
    """The kernel's srtt depends only on its samples, so the same samples give the same srtt."""
    del scenario
    return Value(0, "s")


@law(formula="tick / 3", source="the mean of |u − v|, u and v uniform in a tick; TCP_TS_HZ")
def third_of_tick(scenario: Scenario) -> Value:
    """The error is a third of the clock's tick, which is 1 ms in Linux.

    Each of the two timestamps is late by a uniform part of a tick. The error of the RTT is the difference of these two
    parts, whose mean size is a third of a tick.
    """
    rtt_for_new_data(scenario)
    return Value(_TICK / 3, "s")


@law(formula="delays + frame / rate of each hop, both ways", source="ping(8); RFC 792, 4443; IEEE 802.3")
def rtt_of_ping(scenario: Scenario) -> Value:
    """An echo request and its reply have the same size, and no other packets are on the path."""
    asked = scenario.writer.write_size
    data = _ECHO_DATA if asked is None else asked
    return base_rtt(scenario, Size(data + _ICMP + ip_header(scenario)))


@law(formula="8 × (rwnd − skb / 2) / goodput", source="Little's law; tcp_tso_should_defer()")
def rtt_of_full_window(scenario: Scenario) -> Value:
    """The RTT is window / rate: the window's excess over the path's capacity is in the queue (Little's law).

    A sender waits until the window has room for a burst (tcp_tso_should_defer()), so on average half a burst of the
    window is unused. A burst takes at most a millisecond (tcp_tso_autosize()). The law does not hold if the
    send buffer is the limit, because a writer sleeps until a third of the buffer is free.
    """
    paced = _PACING * goodput_line_rate(scenario).number / 8 / _PACING_SHARE // mss(scenario)
    window, burst = rcv_window(scenario), min(gso_segments(scenario), max(paced, _MIN_TSO_SEGS)) * mss(scenario)
    if 3 * window > 2 * scenario.sndbuf_max:
        raise ModelError("the send buffer, not the window, bounds what is in flight")
    return Value(8 * (window - burst / 2) / goodput_line_rate(scenario).number, "s")
