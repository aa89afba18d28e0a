"""Compute the MSS that each end announces, and the size of the segments that the other end then sends.

The ends do not negotiate. Each end announces the largest segment that it can receive. That size follows from the end's
own route (ipv4_default_advmss(), or `advmss`). Each end sends segments that fit its own path, and none longer than the
other end announced (tcp_sync_mss()). `TCP_MAXSEG` limits both sizes. Source: RFC 9293, 3.7.1. A function for the sender
gives the receiver's value if you pass it the reversed scenario.
"""

from __future__ import annotations

from lab.model.scenario import Scenario
from lab.spec.prediction import law
from lab.units import Value

_TCP, _TIMESTAMPS = 20, 12  # RFC 9293; NOP NOP and the option of 10 bytes (RFC 7323 appendix A; TCPOLEN_TSTAMP_ALIGNED)
_LEAST = 256  # ip_rt_min_advmss, of IPv4
_ANNOUNCED = "RFC 9293, 3.7.1; RFC 6691; ipv4_default_advmss()"
_SENT = "RFC 9293, 3.7.1; RFC 6691; tcp_sync_mss()"


@law(formula="20 B, and 12 B for timestamps", source="RFC 9293, 3.1; RFC 7323, appendix A")
def tcp_header_length(scenario: Scenario) -> Value:
    """The TCP header of a data segment has 20 bytes, and 12 more with timestamps."""
    return Value(_TCP + _timestamps(scenario), "B")


def header_bytes(scenario: Scenario) -> int:
    """Return the header bytes of a data segment: 20 or 40 for IP (RFC 791, 8200), 20 for TCP, and 12 for timestamps."""
    return ip_header(scenario) + _TCP + _timestamps(scenario)


def mss(scenario: Scenario) -> int:
    """Return the payload of the sender's full segment, in bytes."""
    narrowest = min((hop.mtu for hop in scenario.forward), default=scenario.sender.interface.mtu).bytes
    return _segment(scenario, narrowest)


def narrows(scenario: Scenario) -> bool:
    """Return whether a later hop's MTU is too small for the first segments, whose size depends on the sender's link."""
    hops = scenario.forward
    return bool(hops) and mss(scenario) < _segment(scenario, hops[0].mtu.bytes)


def _segment(scenario: Scenario, mtu: int) -> int:
    """Return the payload of a full segment if this MTU is the only limit."""
    carried = mtu - ip_header(scenario) - _TCP
    return min(carried, heard(scenario.reversed()), _asked(scenario)) - _timestamps(scenario)


def own_segment(scenario: Scenario) -> int:
    """Return the payload, in bytes, of the full segments that the sender expects to receive (advmss of tcp_sock)."""
    return announced(scenario) - _timestamps(scenario)


def heard(scenario: Scenario) -> int:
    """Return the sender's MSS as it reaches the receiver, after changes by middleboxes."""
    value, ends = announced(scenario), (scenario.sender.node.name, scenario.receiver.node.name)
    for box in scenario.middleboxes:
        value = box.mss_of_syn(value, *ends, scenario.kernel.patches)
    return value


@law(formula="MTU − 40 B (IPv6: 60 B), unless a route, a program or a middlebox sets it", source=_ANNOUNCED)
def mss_of_syn(scenario: Scenario) -> Value:
    """The SYN arrives with the client's MSS, after changes by middleboxes."""
    return Value(heard(scenario if scenario.client == "sender" else scenario.reversed()), "B")


@law(formula="MTU − 40 B (IPv6: 60 B), unless a route, a program or a middlebox sets it", source=_ANNOUNCED)
def mss_of_syn_ack(scenario: Scenario) -> Value:
    """The SYN-ACK arrives with the server's MSS, after changes by middleboxes."""
    return Value(heard(scenario if scenario.client == "receiver" else scenario.reversed()), "B")


@law(formula="min(MTU − headers, MSS of the other end − options)", source=_SENT)
def largest_payload(scenario: Scenario) -> Value:
    """The largest payload is the payload of a full segment from the sender."""
    return Value(mss(scenario), "B")


@law(formula="min(MTU − headers, MSS of the other end − options)", source=_SENT)
def largest_payload_back(scenario: Scenario) -> Value:
    """The largest payload is the payload of a full segment from the receiver."""
    return Value(mss(scenario.reversed()), "B")


@law(formula="0, as a segment is at most MTU − headers", source=_SENT)
def no_fragments(scenario: Scenario) -> Value:
    """There are 0 fragments: an end sends no segment longer than its own path carries, regardless of the MSS that it
    received.
    """
    del scenario
    return Value(0, "1")


def announced(scenario: Scenario) -> int:
    """Return the MSS that the sender announces: its route's `advmss`, or its MTU minus the headers without options.

    The sender's program may lower the MSS.
    """
    mtu = scenario.forward[0].mtu if scenario.forward else scenario.sender.interface.mtu
    advmss = scenario.sender.advmss
    route = advmss.bytes if advmss else max(mtu.bytes - ip_header(scenario) - _TCP, _LEAST)
    return min(route, _asked(scenario))


def _asked(scenario: Scenario) -> int:
    """Return the limit that the sender's program sets with TCP_MAXSEG. Default: 65535."""
    return scenario.writer.maxseg if scenario.writer.maxseg and scenario.client == "sender" else 65535


def ip_header(scenario: Scenario) -> int:
    """Return the length of a packet's IP header in bytes: RFC 791, 8200."""
    return 20 if scenario.ip == 4 else 40


def _timestamps(scenario: Scenario) -> int:
    return _TIMESTAMPS * scenario.timestamps
