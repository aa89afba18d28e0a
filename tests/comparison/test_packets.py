"""Where two captures part: in what a packet says or when it comes, not in what chance decides."""

from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from lab.comparison.packets import diverge
from lab.metric.capture import Capture


def transfer(port: int = 40000, isn: int = 1000, their_isn: int = 7, shift: float = 0.0) -> list[Ether]:
    """A handshake, two segments and their ACK."""
    there: dict[str, Any] = {"sport": port, "dport": 5001}
    back: dict[str, Any] = {"sport": 5001, "dport": port}
    options = [("MSS", 1460), ("WScale", 7)]
    packets = [
        TCP(**there, seq=isn, flags="S", options=options),
        TCP(**back, seq=their_isn, ack=(isn + 1) % 2**32, flags="SA", options=options),
        TCP(**there, seq=(isn + 1) % 2**32, ack=their_isn + 1, flags="A") / Raw(b"x" * 100),
        TCP(**there, seq=(isn + 101) % 2**32, ack=their_isn + 1, flags="PA") / Raw(b"x" * 50),
        TCP(**back, seq=their_isn + 1, ack=(isn + 151) % 2**32, flags="A", window=500),
    ]
    made = []
    for number, packet in enumerate(packets):
        source, target = ("10.0.0.1", "10.0.0.2") if packet.sport == port else ("10.0.0.2", "10.0.0.1")
        frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src=source, dst=target) / packet
        frame.time = 100 + shift + number / 1000
        made.append(frame)
    return made


def capture(folder: Path, name: str, packets: list[Ether]) -> Capture:
    wrpcap(str(folder / name), packets, linktype=1)
    return Capture(folder / name)


@pytest.fixture
def base(tmp_path: Path) -> Capture:
    return capture(tmp_path, "base.pcap", transfer())


@pytest.mark.parametrize("chance", [{"port": 50000}, {"isn": 2**32 - 60}, {"their_isn": 9}, {"shift": 3.5}])
def test_chance_is_no_difference(base: Capture, tmp_path: Path, chance: dict[str, float]) -> None:
    assert diverge(base, capture(tmp_path, "new.pcap", transfer(**chance))) is None  # type: ignore[arg-type]


def test_what_is_not_tcp_is_no_difference(base: Capture, tmp_path: Path) -> None:
    other = Ether() / IP(src="10.0.0.3", dst="10.0.0.1") / UDP(sport=5, dport=6)
    other.time = 99
    assert diverge(base, capture(tmp_path, "new.pcap", [other, *transfer()])) is None


def test_a_smaller_mss_is_seen_in_the_syn(base: Capture, tmp_path: Path) -> None:
    packets = transfer()
    packets[0][TCP].options = [("MSS", 1456), ("WScale", 7)]
    where = diverge(base, capture(tmp_path, "new.pcap", packets))
    assert where
    assert (where.number, where.what) == (1, "content")
    assert "mss 1460" in where.base
    assert "mss 1456" in where.new


@pytest.mark.parametrize(("index", "field", "value"), [(3, "seq", 1102), (4, "ack", 1101), (4, "window", 501)])
def test_the_first_packet_that_differs_is_named(
    base: Capture, tmp_path: Path, index: int, field: str, value: int
) -> None:
    packets = transfer()
    setattr(packets[index][TCP], field, value)
    where = diverge(base, capture(tmp_path, "new.pcap", packets))
    assert where
    assert (where.number, where.what) == (index + 1, "content")


@pytest.mark.parametrize(("late", "what"), [(5e-6, None), (20e-3, "time")])
def test_a_packet_that_comes_later(base: Capture, tmp_path: Path, late: float, what: str | None) -> None:
    packets = transfer()
    packets[4].time = float(packets[4].time) + late
    where = diverge(base, capture(tmp_path, "new.pcap", packets))
    assert (where and (where.number, where.what)) == (what and (5, what))


def test_a_capture_that_goes_on(base: Capture, tmp_path: Path) -> None:
    where = diverge(base, capture(tmp_path, "new.pcap", transfer()[:4]))
    assert where
    assert (where.number, where.new) == (5, "")
