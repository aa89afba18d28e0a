"""Captures of every form give the same explanation, and damaged ones what can be read."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
import zstandard

from lab.errors import InputError
from lab.ext.explain.explaining import Explained, explain
from lab.ext.explain.limits import Limit
from tests.ext.explain.captures import MSS, Packet, pcap, pcapng, windows

PACKETS = windows(40, [10, 20, 40, 40, 40, 40])


def _explain(tmp_path: Path, content: bytes, name: str = "capture") -> Explained:
    file = tmp_path / name
    file.write_bytes(content)
    return explain(file)


def _seen(found: Explained) -> object:
    [one] = found.connections
    parts = [(part.limit, round(part.seconds, 3), part.flight, part.packets) for part in one.stretches]
    return one.sender, one.payload, one.packets, parts


@pytest.mark.parametrize(
    "content",
    [
        pcap(PACKETS, order=">"),
        pcap(PACKETS, nano=False),
        pcap(PACKETS, snap=80),
        pcapng(PACKETS),
        pcapng(PACKETS, order=">"),
        gzip.compress(pcap(PACKETS)),
        zstandard.compress(pcapng(PACKETS)),
    ],
    ids=["big-endian", "microseconds", "short snap length", "pcapng", "big-endian pcapng", "gzip", "zstd"],
)
def test_all_forms_of_a_capture_have_one_explanation(tmp_path: Path, content: bytes) -> None:
    assert _seen(_explain(tmp_path, content)) == _seen(_explain(tmp_path, pcap(PACKETS)))


def test_a_capture_of_cooked_packets_is_read(tmp_path: Path) -> None:
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 113)]
    for each in PACKETS:
        frame = bytes(14) + b"\x08\0" + each.frame[14:]
        parts += [struct.pack("<IIII", each.ns // 10**9, each.ns % 10**9, len(frame), len(frame)), frame]
    assert _seen(_explain(tmp_path, b"".join(parts))) == _seen(_explain(tmp_path, pcap(PACKETS)))


def test_a_cut_file_says_where_it_ends(tmp_path: Path) -> None:
    whole = pcap(PACKETS)
    found = _explain(tmp_path, whole[:-10])
    assert found.packets == len(PACKETS) - 1
    start = len(whole) - 16 - len(PACKETS[-1].frame)
    assert found.remarks == (f"the file ends within packet {len(PACKETS)}, which begins at byte {start:,}",)


def test_damage_in_the_middle_leaves_what_is_before_it(tmp_path: Path) -> None:
    content = bytearray(pcap(PACKETS))
    at = len(pcap(PACKETS[:20]))
    content[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
    found = _explain(tmp_path, bytes(content))
    assert found.packets == 20
    assert f"damaged at byte {at:,}" in found.remarks[0]
    content = bytearray(pcapng(PACKETS))
    at = len(pcapng(PACKETS[:20]))
    content[at + 4 : at + 8] = b"\x03\0\0\0"
    found = _explain(tmp_path, bytes(content))
    assert found.packets == 20
    assert f"damaged at byte {at:,}" in found.remarks[0]


def test_a_cut_packed_file_gives_what_can_be_unpacked(tmp_path: Path) -> None:
    packed = gzip.compress(pcap(PACKETS), compresslevel=0)
    found = _explain(tmp_path, packed[: len(packed) // 2])
    assert 0 < found.packets < len(PACKETS)
    assert "damaged" in found.remarks[0]


def test_losses_of_the_capture_are_reported(tmp_path: Path) -> None:
    assert _explain(tmp_path, pcapng(PACKETS, lost=7)).remarks == (
        "the capture itself lost 7 packets, as the file reports",
    )


@pytest.mark.parametrize("content", [b"", b"no capture", b"\xd4\xc3\xb2\xa1", pcap([])[:20] + b"\x7f\0\0\0"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError):
        _explain(tmp_path, content)


def test_a_missing_connection_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "capture"
    file.write_bytes(pcap(PACKETS))
    assert explain(file, 1).connections[0].stretches
    with pytest.raises(InputError, match="no connection 2"):
        explain(file, 2)


def test_one_direction_alone_cannot_tell(tmp_path: Path) -> None:
    [ahead] = _explain(tmp_path, pcap([each for each in PACKETS if not each.back])).connections
    assert ahead.shares == {Limit.UNKNOWN: 1.0}
    assert ahead.facts is not None
    assert "ACKs are not in the capture" in ahead.facts.missing
    [back] = _explain(tmp_path, pcap([each for each in PACKETS if each.back])).connections
    assert set(back.shares) <= {Limit.UNKNOWN} or not back.stretches


def test_super_packets_count_as_segments(tmp_path: Path) -> None:
    joined = windows(40, [1] * 8)
    joined = [Packet(**{**vars(each), "size": 10 * MSS}) if each.size else each for each in joined]
    moved = [Packet(**{**vars(each), "seq": 1 + (each.seq - 1) * 10}) if each.size else each for each in joined]
    moved = [Packet(**{**vars(each), "ack": 1 + (each.ack - 1) * 10}) if each.back else each for each in moved]
    [found] = _explain(tmp_path, pcap(moved)).connections
    assert found.payload[0] == 80 * MSS
    assert max(part.flight for part in found.stretches) == 10 * MSS
