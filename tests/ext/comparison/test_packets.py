"""Where two captures part: in what a packet says or when it comes, to the nanosecond, not in what chance decides."""

import struct
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from lab.ext.comparison.packets import PacketDifference, first_packet_difference
from lab.metric.capture import Capture
from tests.examples import examples
from tests.frames import ETHERNET

Save = Callable[..., Capture]

NUMBER = st.integers(0, 2**32 - 1)
MS = 10**6  # ns


def transfer(port: int = 40000, isn: int = 1000, their_isn: int = 7, clock: int = 1) -> list[Ether]:
    """A handshake, two segments and their ACK, of which the last tells of a hole."""
    there: dict[str, Any] = {"sport": port, "dport": 5001}
    back: dict[str, Any] = {"sport": 5001, "dport": port}

    def stamped(*options: tuple[str, object]) -> list[tuple[str, object]]:
        """Laid out as Linux does: timestamps first, of 12 bytes with their padding."""
        return [("NOP", None), ("NOP", None), ("Timestamp", (clock, clock)), *options]

    scale = stamped(("MSS", 1460), ("WScale", 7), ("SAckOK", b""))
    hole = stamped(("NOP", None), ("NOP", None), ("SAck", ((isn + 201) % 2**32, (isn + 251) % 2**32)))
    packets = [
        TCP(**there, seq=isn, flags="S", options=scale),
        TCP(**back, seq=their_isn, ack=(isn + 1) % 2**32, flags="SA", options=scale),
        TCP(**there, seq=(isn + 1) % 2**32, ack=(their_isn + 1) % 2**32, flags="A", options=stamped()),
        TCP(**there, seq=(isn + 101) % 2**32, ack=(their_isn + 1) % 2**32, flags="PA", options=stamped()),
        TCP(**back, seq=(their_isn + 1) % 2**32, ack=(isn + 151) % 2**32, flags="A", window=500, options=hole),
    ]
    sizes = (0, 0, 100, 50, 0)
    ends = {port: ("10.0.0.1", "10.0.0.2"), 5001: ("10.0.0.2", "10.0.0.1")}
    return [
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / IP(src=ends[packet.sport][0], dst=ends[packet.sport][1])
        / packet
        / Raw(b"x" * size)
        for packet, size in zip(packets, sizes, strict=True)
    ]


@pytest.fixture(scope="module")
def save(tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Writes packets as a capture that resolves nanoseconds; they come a millisecond apart unless `times` says when."""
    numbers, folder = count(), tmp_path_factory.mktemp("captures")

    def save(packets: Sequence[Ether], times: Sequence[int] = ()) -> Capture:
        parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
        for time, packet in zip(times or regular(len(packets)), map(bytes, packets), strict=True):
            parts += [struct.pack("<IIII", *divmod(time, 10**9), len(packet), len(packet)), packet]
        path = folder / f"{next(numbers)}.pcap"
        path.write_bytes(b"".join(parts))
        return Capture(path)

    return save


@pytest.fixture(scope="module")
def base(save: Save) -> Capture:
    return save(transfer())


def regular(length: int, start: int = 100 * 1000 * MS) -> list[int]:
    """Times, in nanoseconds, that are a millisecond apart."""
    return [start + each * MS for each in range(length)]


def named(where: PacketDifference | None) -> tuple[int, str] | None:
    return (where.number, where.what) if where else None


@examples(50)
@given(port=st.integers(5002, 65535), isn=NUMBER, their_isn=NUMBER, clock=NUMBER, start=st.integers(0, 2**60))
def test_chance_is_no_difference(
    save: Save, base: Capture, port: int, isn: int, their_isn: int, clock: int, start: int
) -> None:
    """Ports, initial sequence numbers, timestamps' values, and when the first packet came."""
    new = save(transfer(port, isn, their_isn, clock), regular(5, start))
    assert first_packet_difference(base, new) is None


@examples(50)
@given(index=st.integers(1, 4), by=st.integers(-MS + 1, MS - 1).filter(bool) | st.sampled_from((-1, 1)), isn=NUMBER)
def test_a_nanosecond_is_a_difference(save: Save, base: Capture, index: int, by: int, isn: int) -> None:
    times = regular(5)
    times[index] += by
    assert named(first_packet_difference(base, save(transfer(isn=isn), times))) == (index + 1, "time")


def test_a_nanosecond_is_said(save: Save, base: Capture) -> None:
    times = regular(5)
    times[4] += 1
    where = first_packet_difference(base, save(transfer(), times))
    assert where
    assert where.base.startswith("0.004000000 s flow 2 ACK seq 1 ack 151 win 500 len 0 header 44")
    assert where.new.startswith("0.004000001 s flow 2 ACK")


@pytest.mark.parametrize("direction", ["10.0.0.1", "10.0.0.2"])
def test_chance_in_one_direction_alone(save: Save, direction: str) -> None:
    """A capture's filter may leave the other one out, whose initial sequence number its ACKs count from."""
    one, other = (
        save([packet for packet in transfer(isn=isn, their_isn=isn // 2) if packet[IP].src == direction])
        for isn in (1000, 5000)
    )
    assert first_packet_difference(one, other) is None


def test_what_is_not_tcp_is_no_difference(save: Save, base: Capture) -> None:
    other = ETHERNET / IP(src="10.0.0.3", dst="10.0.0.1") / UDP(sport=5, dport=6)
    assert first_packet_difference(base, save([other, *transfer()])) is None


@pytest.mark.parametrize(
    ("index", "fields", "what"),
    [
        (3, {"seq": 1102}, "seq"),
        (4, {"ack": 1101}, "ack"),
        (4, {"window": 501}, "window"),
        (3, {"flags": "A"}, "flags"),
        (3, {"flags": "PAC"}, "flags"),
        (3, {"options": []}, "header"),
        (3, {"window": 501, "flags": "A"}, "flags, window"),
    ],
)
def test_the_fields_that_differ_are_named(
    save: Save, base: Capture, index: int, fields: dict[str, object], what: str
) -> None:
    packets = transfer()
    for name, value in fields.items():
        setattr(packets[index][TCP], name, value)
    where = first_packet_difference(base, save(packets))
    assert where
    assert named(where) == (index + 1, what)
    assert where.base != where.new  # the words show it, too


def test_a_smaller_mss_is_seen_in_the_syn(save: Save, base: Capture) -> None:
    packets = transfer()
    options = packets[0][TCP].options
    packets[0][TCP].options = [("MSS", 1456) if name == "MSS" else (name, value) for name, value in options]
    where = first_packet_difference(base, save(packets))
    assert named(where) == (1, "options")
    assert where
    assert where.base.endswith("mss 1460 wscale 7 sackOK")
    assert where.new.endswith("mss 1456 wscale 7 sackOK")


def test_another_block_of_sack_is_seen(save: Save, base: Capture) -> None:
    packets = transfer()
    packets[4][TCP].options = [*packets[4][TCP].options[:-1], ("SAck", (1201, 1252))]
    where = first_packet_difference(base, save(packets))
    assert named(where) == (5, "options")
    assert where
    assert (where.base[-12:], where.new[-12:]) == ("sack 201-251", "sack 201-252")


def test_a_shorter_segment(save: Save, base: Capture) -> None:
    packets = transfer()
    packets[2] = packets[2].copy()
    packets[2][TCP].remove_payload()
    packets[2] = packets[2] / Raw(b"x" * 96)
    times = regular(5)
    assert named(first_packet_difference(base, save(packets, times))) == (3, "payload")
    times[2] += 1
    assert named(first_packet_difference(base, save(packets, times))) == (3, "payload, time")


def test_a_packet_in_between(save: Save, base: Capture) -> None:
    """Where an ACK comes first, nothing else of it is compared with the segment of the other kernel."""
    packets = transfer()
    early = packets[4].copy()
    early[TCP].ack = 1101
    assert named(first_packet_difference(base, save([*packets[:3], early, *packets[3:]]))) == (4, "flow")


def test_a_capture_that_goes_on(save: Save, base: Capture) -> None:
    where = first_packet_difference(base, save(transfer()[:4]))
    assert where
    assert (where.number, where.what, where.new) == (5, "end", "")
    assert first_packet_difference(save([]), save([])) is None
