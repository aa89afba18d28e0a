"""What headers, rates and delays alone decide."""

from __future__ import annotations

from fractions import Fraction

from lab.errors import LabError
from lab.model.path import Path
from lab.units import Rate, Size, Value

__all__ = ["ModelError", "base_rtt", "frame", "goodput_line_rate", "mss", "tcp_header_length"]

ETHERNET = 38  # preamble 8, header 14, FCS 4, inter-frame gap 12 (IEEE 802.3): what a frame costs beyond its packet
_TIMESTAMPS = 12  # NOP NOP and the option of 10 bytes (RFC 7323 appendix A; TCPOLEN_TSTAMP_ALIGNED)


class ModelError(LabError):
    """The model does not cover such a path."""


def header_bytes(path: Path) -> int:
    """IP and TCP headers of a data segment: 20 or 40, and 20 (RFC 791, 8200, 9293), and the timestamps' 12."""
    return (20 if path.version == 4 else 40) + int(tcp_header_length(path).number)


def tcp_header_length(path: Path) -> Value:
    """Bytes of a data segment's TCP header: 20, and 12 with timestamps."""
    return Value(20 + _TIMESTAMPS * path.timestamps, "B")


def mss(path: Path) -> int:
    """Payload bytes of a full segment: the MTU less the headers."""
    return path.mtu.bytes - header_bytes(path)


def frame(path: Path) -> Size:
    """What a full segment costs on the wire."""
    return Size(path.mtu.bytes + ETHERNET)


def goodput_line_rate(path: Path) -> Value:
    """Goodput that fills the bottleneck: rate x payload / frame. Raises ModelError without a rate."""
    return Value(float(Fraction(mss(path), frame(path).bytes) * _rate(path).bps), "bit/s")


def base_rtt(path: Path, there: Size | None = None, back: Size | None = None) -> Value:
    """Round trip on an idle path of packets of these IP sizes: delays, and each hop's serialisation, both ways.

    Without sizes: `ping`'s, 84 bytes of IP either way (56 of data, 8 of ICMP, 20 of IP).
    """
    there, back = there or Size(84), back or there or Size(84)
    ways = ((path.forward, there), (path.back, back))
    seconds = sum(
        (Fraction(hop.delay.ns, 10**9) + (hop.rate.time_for(Size(packet.bytes + ETHERNET)) if hop.rate else 0))
        for way, packet in ways
        for hop in way
    )
    return Value(float(seconds), "s")


def _rate(path: Path) -> Rate:
    if path.rate is None:
        raise ModelError("no link of the path has a rate, so nothing but the machine bounds the goodput")
    return path.rate
