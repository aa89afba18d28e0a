"""Compute the figures that depend only on headers, rates and delays."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from lab.base import ethernet
from lab.guest.network import Direction
from lab.model.mss import header_bytes, mss
from lab.model.scenario import ModelError, Scenario
from lab.spec.prediction import law
from lab.units import Size, Value


def packet(scenario: Scenario) -> Size:
    """Return the size of a full segment's IP packet."""
    return Size(mss(scenario) + header_bytes(scenario))


def frame(scenario: Scenario) -> Size:
    """Return the size of a full segment on the wire."""
    return Size(packet(scenario).bytes + ethernet.AROUND)


@law(formula="rate × payload / frame", source="IEEE 802.3; RFC 791, 8200, 9293, 7323")
def goodput_line_rate(scenario: Scenario) -> Value:
    """The goodput that fills the bottleneck is rate x payload / frame. Raises ModelError if no link has a rate."""
    if scenario.rate is None:
        raise ModelError("no link of the path has a rate, so only the machine bounds the goodput")
    return Value(float(Fraction(mss(scenario), frame(scenario).bytes) * scenario.rate.bps), "bit/s")


@law(formula="1 − payload / frame", source="IEEE 802.3; RFC 791, 8200, 9293, 7323")
def header_share(scenario: Scenario) -> Value:
    """Headers are all parts of a frame except the payload: Ethernet's 38 bytes and the IP and TCP headers."""
    return Value(float(1 - Fraction(mss(scenario), frame(scenario).bytes)), "1")


def base_rtt(scenario: Scenario, there: Size | None = None, back: Size | None = None) -> Value:
    """A round trip on an idle path takes the delays and the serialisation times of all hops, in both directions.

    The default sizes are ping's sizes: 84 bytes of IP in each direction (56 of data, 8 of ICMP, 20 of IP).
    """
    there, back = there or Size(84), back or there or Size(84)
    return Value(one_way(scenario.forward, there) + one_way(scenario.reverse, back), "s")


def segment_rtt(scenario: Scenario) -> Value:
    """Return the time of a full segment and its ACK on an idle path, in both directions."""
    return base_rtt(scenario, packet(scenario), Size(header_bytes(scenario)))


def one_way(hops: Iterable[Direction], packet: Size) -> float:
    """Return the time, in seconds, that an IP packet takes over these hops when they are idle."""
    whole = Size(packet.bytes + ethernet.AROUND)
    return float(sum(Fraction(hop.delay.ns, 10**9) + (hop.rate.time_for(whole) if hop.rate else 0) for hop in hops))
