"""Nothing but the workload's own packets crosses the wires: IPv6 reports its listeners before."""

from __future__ import annotations

import pytest
from scapy.layers.inet import TCP
from scapy.utils import rdpcap

from lab.guest.probe import Capture
from lab.guest.workload import RequestResponse
from lab.units import Duration
from tests.kinds import Perform


@pytest.mark.guest
def test_a_capture_of_six_seconds_holds_the_workloads_packets_alone_once_it_begins(perform: Perform) -> None:
    """IPv6 would repeat its reports in the first two seconds of an interface's life."""
    slow = RequestResponse(count=6, interval=Duration.of("1 s"))
    record = perform("shared-bottleneck", slow, (Capture(node="sender"), Capture(node="receiver")))
    for name in record.outputs:
        if name.endswith(".pcap"):
            packets = rdpcap(str(record.path(name)))
            first = next(number for number, packet in enumerate(packets) if TCP in packet)
            assert len(packets) - first > 12
            assert [packet.summary() for packet in packets[first:] if TCP not in packet] == []
