"""Measure the MSS, segments, headers and fragments of a connection, and the time of a transfer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lab.base import ethernet
from lab.guest import outputs
from lab.metric.capture import Capture
from lab.metric.metrics import connection_of, header_lengths
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value

if TYPE_CHECKING:
    from scapy.utils import PcapReader

_AROUND = ethernet.AROUND + 20  # bytes around a segment: Ethernet, and an IPv4 header without options
_SYN = {"SYN": "S", "SYN-ACK": "SA"}  # as scapy writes flags


@measures("B")
def mss_in(kind: Literal["SYN", "SYN-ACK"], node: str = "sender", interface: str = "eth0") -> Measure:
    """Return the MSS option of the first such segment in a capture, in bytes, as scapy reads it."""

    def measure(record: Record) -> Value:
        from scapy.layers.inet import TCP  # takes half a second, so only if it is needed

        with _packets(record.path(outputs.capture(node, interface))) as packets:
            syn = next((each[TCP] for each in packets if TCP in each and each[TCP].flags == _SYN[kind]), None)
        if syn is None:
            raise MetricError(f"the capture of '{node}' has no {kind}")
        options = dict(option for option in syn.options if option[0] == "MSS")
        if "MSS" not in options:
            raise MetricError(f"the {kind} carries no MSS")
        return Value(options["MSS"], "B")

    return measure


@measures("B")
def largest_payload(way: Literal["forward", "back"] = "forward", node: str = "sender") -> Measure:
    """Measure the largest payload of the bulk connection's segments, in bytes. `forward` carries more payload."""

    def measure(record: Record) -> Value:
        parts = connection_of(record, node).parts()
        ways = (part.forward if way == "forward" else part.back for part in parts)
        longest = max((int(segments.payload.max()) for segments in ways if segments.data.any()), default=0)
        if not longest:
            raise MetricError(f"nothing was sent {way}")
        return Value(longest, "B")

    return measure


@measures("1", most=1)
def header_share(node: str = "sender") -> Measure:
    """Measure the share of the data segments' time on the wire that the headers of Ethernet, IP and TCP take."""

    def measure(record: Record) -> Value:
        connection = connection_of(record, node)
        headers = sum((length + _AROUND) * count for length, count in header_lengths(connection).items())
        if not headers:
            raise MetricError("no data segment was sent")
        payload = sum(int(part.forward.payload.sum()) for part in connection.parts())
        return Value(headers / (headers + payload), "1")

    return measure


@measures("1")
def fragments(node: str = "sender", interface: str = "eth0") -> Measure:
    """Count the IP packets of a capture that are fragments, as scapy reads them."""

    def count(record: Record) -> Value:
        from scapy.layers.inet import IP

        with _packets(record.path(outputs.capture(node, interface))) as packets:
            return Value(sum(1 for each in packets if IP in each and (each[IP].flags.MF or each[IP].frag)), "1")

    return count


@measures("s")
def transfer_time() -> Measure:
    """Measure the time of one transfer, in seconds, from before its client connects until the last byte is read."""

    def measure(record: Record) -> Value:
        if outputs.NETCAT in record.outputs:
            output = record.json(outputs.NETCAT)
            return Value((output["end_ns"] - output["start_ns"]) / 1e9, "s")
        return Value((record.json(outputs.BULK)["last_ns"] - record.json(outputs.BULK_SENDER)["start_ns"]) / 1e9, "s")

    return measure


def _packets(capture: Path) -> PcapReader:
    """Return scapy's reader for a capture, without its warning about a truncated last packet. Raises CaptureError."""
    from scapy.utils import PcapReader

    Capture(capture)  # raises if the file is not a capture of Ethernet
    logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
    return PcapReader(str(capture))
