"""The columns agree with tshark and scapy, packet by packet, on whatever a capture may hold."""

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

from lab.metric import capture, pcap
from lab.metric.capture import Capture, CaptureError
from lab.metric.options import Options
from lab.metric.packets import ACK, SYN, Flow
from tests.examples import examples
from tests.kinds import Save

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")

FOUR, SIX = IP(src="10.0.0.1", dst="10.0.0.2"), IPv6(src="fd00::1", dst="fd00::2")
STAMPS = [("NOP", None), ("NOP", None), ("Timestamp", (7, 9))]
DATA = TCP(sport=1000, dport=2000, seq=0xFFFFFF00, ack=5, flags="PA", window=501, options=STAMPS) / Raw(b"x" * 700)

ODD: list[Packet] = [
    ETHER / FOUR / TCP(sport=1000, dport=2000, flags="S", options=[("MSS", 1460), ("SAckOK", b""), ("WScale", 7)]),
    ETHER / FOUR / DATA,
    ETHER / Dot1Q(vlan=3) / FOUR / DATA,
    ETHER / Dot1Q(vlan=3) / Dot1Q(vlan=4) / SIX / DATA,
    ETHER / IP(src="10.0.0.1", dst="10.0.0.2", options=[IPOption_Router_Alert()]) / DATA,
    ETHER / SIX / DATA,
    ETHER / SIX / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / DATA,
    ETHER / SIX / IPv6ExtHdrRouting(addresses=["fd00::9"]) / DATA,
    ETHER / SIX / IPv6ExtHdrFragment(offset=0, m=1, id=1) / DATA,
    ETHER / SIX / IPv6ExtHdrFragment(offset=90, m=0, id=1, nh=6) / Raw(b"y" * 64),
    *[ETHER / part for part in fragment(FOUR / UDP(sport=53, dport=54) / Raw(b"z" * 2000), 800)],
    ETHER / FOUR / UDP(sport=5353, dport=53) / Raw(b"q" * 30),
    ETHER / FOUR / ICMP() / Raw(b"ping"),
    ETHER / ARP(),
    ETHER / FOUR / TCP(sport=2, dport=1, flags="A", options=[*STAMPS, ("NOP", None), ("NOP", None), ("SAck", (1, 2))]),
    ETHER / FOUR / TCP(sport=2, dport=1, flags="A", options=[("NOP", None), ("NOP", None), ("SAck", (1, 2, 5, 6))]),
    ETHER / FOUR / TCP(sport=2, dport=1, flags="FA") / Raw(b"bye"),
]


def tshark(path: Path, *fields: str) -> list[list[str]]:
    names = [word for field in fields for word in ("-e", field)]
    argv = [
        "tshark",
        "-r",
        str(path),
        "-T",
        "fields",
        "-E",
        "occurrence=l",
        "-o",
        "tcp.relative_sequence_numbers:FALSE",
    ]
    argv += ["-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", *names]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_reading_in_blocks_changes_nothing(save: Save, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """What a block holds, IPv6 or not, is of no matter to another's packets."""
    path = save([bytes(packet) for packet in (*ODD, *reversed(ODD))])
    whole = Capture(path)
    names = [name for name, each in vars(Capture).items() if isinstance(each, capture._Column)]
    expected = dict(zip(names, whole.columns(*names), strict=True))
    census = whole.census
    options = [whole.options(packet) for packet in range(len(whole))]
    monkeypatch.setattr(capture, "_BLOCK", block)
    monkeypatch.setattr(pcap, "_WINDOW", 300)
    monkeypatch.setattr(pcap, "_KEPT", 1)
    parts = Capture(path)
    assert parts.options(len(whole) - 1) == options[-1]
    assert (parts.flows, parts.census.carried.tolist()) == (census.flows, census.carried.tolist())
    assert len(parts) == len(whole)
    for name, column in expected.items():
        assert (getattr(parts, name) == column).all(), name
    assert [parts.options(packet) for packet in range(len(whole))] == options
    with pytest.raises(IndexError):
        parts.options(len(whole))


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("snap", [65535, 128])
def test_columns_agree_with_tshark(save: Save, snap: int) -> None:
    path = save([bytes(packet) for packet in ODD], snap=snap)
    capture = Capture(path)
    wanted = ["tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.ack", "tcp.hdr_len", "tcp.flags", "tcp.window_size_value"]
    rows = tshark(path, "frame.len", "frame.cap_len", "frame.time_epoch", "tcp.len", *wanted)
    assert len(rows) == len(capture) == len(ODD)
    columns = [capture.source_port, capture.destination_port, capture.seq, capture.ack]
    columns += [capture.header_length, capture.flags, capture.window]
    for index, (length, captured, time, payload, *tcp) in enumerate(rows):
        assert capture.frame[index] == int(length)
        assert capture.captured[index] == int(captured)
        assert capture.time_ns[index] == int(time.replace(".", ""))
        assert capture.tcp[index] == bool(tcp[0])
        if tcp[0]:
            assert not payload or capture.payload[index] == int(payload)
            assert [int(column[index]) for column in columns] == [int(value, 0) for value in tcp]


def test_columns_agree_with_scapy(save: Save) -> None:
    capture = Capture(save([bytes(packet) for packet in ODD]))
    for index, built in enumerate(ODD):
        packet = Ether(bytes(built))
        assert capture.version[index] == (4 if IP in packet else 6 if IPv6 in packet else 0)
        if UDP in packet and packet[UDP].sport:
            assert capture.udp[index]
            assert capture.source_port[index] == packet[UDP].sport
        if TCP in packet and IPv6ExtHdrFragment not in packet:
            options = dict(packet[TCP].options)
            assert capture.timestamped[index] == (options.get("Timestamp") is not None)
            assert (capture.ts_value[index], capture.ts_echo[index]) == options.get("Timestamp", (0, 0))
            assert capture.sack[index] == ("SAck" in options)
            assert capture.payload[index] == len(packet[Raw].load if Raw in packet else b"")
    flow = Flow("10.0.0.1", 1000, "10.0.0.2", 2000, 6)
    assert capture.flows[capture.flow[1]] == flow
    assert capture.flows[capture.flow[2]] == flow
    assert capture.flows[capture.flow[5]].source == "fd00::1"
    assert capture.flow[[type(packet.payload) is ARP for packet in ODD].index(True)] == -1
    assert capture.options(0) == Options(mss=1460, sack_permitted=True, window_scale=7)
    assert capture.options(1) == Options(timestamps=(7, 9))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [True, False])
def test_byte_orders_and_resolutions(save: Save, order: str, nano: bool) -> None:
    capture = Capture(save([bytes(ODD[1])] * 3, order, nano))
    unit = 1 if nano else 1000
    assert capture.time_ns.tolist() == [(1_700_000_000 + i) * 10**9 + 1000 * i * unit for i in range(3)]
    assert capture.seq.tolist() == [0xFFFFFF00] * 3


@given(st.lists(st.sampled_from(ODD), max_size=30), st.integers(1, 200), st.data())
@examples(60)
def test_any_cut_keeps_the_packets_before_it(save: Save, packets: list[Packet], snap: int, data: st.DataObject) -> None:
    path = save([bytes(packet) for packet in packets], snap=snap)
    ends = np.cumsum([24] + [16 + min(len(packet), snap) for packet in packets])
    cut = data.draw(st.integers(24, int(ends[-1])))
    path.write_bytes(path.read_bytes()[:cut])
    capture = Capture(path)
    whole = int((ends <= cut).sum()) - 1
    assert capture.frame.tolist() == [len(packet) for packet in packets[:whole]]
    for name in ("payload", "seq", "flags", "ts_value", "sack", "flow"):
        assert len(getattr(capture, name)) == whole


@given(st.binary(max_size=400))
def test_noise_behind_a_good_header_is_read_without_error(save: Save, noise: bytes) -> None:
    path = save([noise])
    capture = Capture(path)
    assert len(capture) == len(capture.payload) == len(capture.flow) == 1


def big(rng: np.random.Generator, count: int) -> list[bytes]:
    data, ack = bytes(ODD[1])[:128], bytes(ODD[-1])
    return [
        data + bytes(rng.integers(0, 256, rng.integers(0, 30), np.uint8)) if way else ack
        for way in rng.random(count) < 0.6
    ]


def test_many_packets_are_found_in_parallel(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcap, "_SMALL", 0)
    packets = big(np.random.default_rng(1), 40_000)
    capture = Capture(save(packets))
    assert capture.frame.tolist() == [len(packet) for packet in packets]


def test_packets_that_hold_captures_do_not_mislead(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcap, "_SMALL", 0)
    inner = save([bytes(ODD[1])[:80]] * 10).read_bytes()[24:]
    packets = [bytes(ETHER / FOUR / UDP() / Raw(inner))] * 6000
    capture = Capture(save(packets))
    assert capture.frame.tolist() == [len(packet) for packet in packets]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\x0a\x0d\x0d\x0a" + bytes(40), "not a pcap"),
        (b"abc", "not a pcap"),
        (struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 101), "link type 101"),
    ],
)
def test_what_is_no_capture_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.pcap").write_bytes(content)
    with pytest.raises(CaptureError, match=message):
        Capture(tmp_path / "x.pcap")


def test_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="No such file"):
        Capture(tmp_path / "x.pcap")


def test_empty_capture_has_empty_columns(save: Save) -> None:
    capture = Capture(save([]))
    assert [len(column) for column in (capture.seq, capture.flow, capture.time_ns)] == [0, 0, 0]
    assert capture.flows == ()


@given(st.binary(max_size=40))
def test_options_never_fail(data: bytes) -> None:
    Options.parse(data)


def test_flags_name_their_bits() -> None:
    assert int(TCP(flags="SA").flags) == SYN | ACK
