"""The timestamps of each usual clock show when segments left."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.ext.explain.explaining import explain
from lab.ext.explain.limits import Limit
from tests.ext.explain.captures import ACK, MSS, PSH, Packet, handshake, pcap


@pytest.mark.parametrize("frequency", [100, 250, 300, 1000])
def test_pauses_do_not_look_like_a_queue_whatever_the_frequency_of_the_timestamp_clock(
    tmp_path: Path, frequency: int
) -> None:
    """A server answers each request after 50 ms, and the next request comes after 950 ms. No packet waits in a queue.

    Linux's timestamps had the period of its timer interrupt: CONFIG_HZ is 100, 250, 300 or 1000.
    """
    packets = handshake(20, at="receiver")
    for turn in range(20):
        at = 100.0 + 1000 * turn
        asked, sent = turn + 1, 1 + turn * MSS
        packets.append(Packet(at, back=True, seq=turn, ack=sent, size=1, stamps=(500 + int(at), 1)))
        value = 1000 + int((at + 60) * frequency / 1000)
        packets.append(Packet(at + 70, seq=sent, ack=asked, size=MSS, flags=ACK | PSH, stamps=(value, 500 + int(at))))
        packets.append(Packet(at + 70, back=True, seq=asked, ack=sent + MSS, stamps=(570 + int(at), value)))
    file = tmp_path / "capture.pcap"
    file.write_bytes(pcap(packets))
    [found] = explain(file).connections
    assert found.shares[Limit.TURNS] > 0.9
    assert max(each.delay or 0 for each in found.stretches) < 2e9 / frequency + 80e6
