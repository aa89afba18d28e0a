"""The table of packets that a student opens: it counts as Wireshark does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scapy.layers.l2 import ARP

from lab.errors import InputError
from lab.ext.course.packets import explained, opened
from tests.frames import ETHERNET
from tests.metric.conftest import packet, write

SYN = packet(True, 2**32 - 1, 0, "S", window=64240, wscale=3, mss=1460)
SYN_ACK = packet(False, 500, 0, "SA", window=65160, wscale=4, mss=460)
UNSCALED = packet(False, 500, 0, "SA", window=65160)
DATA = packet(True, 0, 501, size=100, window=502)
ACK = packet(False, 501, 100, window=524)
OTHER = bytes(ETHERNET / ARP())


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(packets: list[bytes], first: int = 1, count: int = 12) -> list[dict[str, str]]:
    """Return what the table says of each packet, by column."""
    write(Path("found.pcap"), packets)
    text = opened(Path("found.pcap"), "kept.pcap", first, count).text
    head, *lines = ([re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]
                    for row in re.findall(r"<tr.*?</tr>", text, re.DOTALL))  # fmt: skip
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_numbers_count_from_the_start_and_windows_are_bytes() -> None:
    syn, answer, data, ack = rows([SYN, SYN_ACK, DATA, ACK])
    assert (syn["No."], syn["Flags"], syn["Seq"], syn["Window, B"], syn["MSS"]) == ("1", "SYN", "0", "64240", "1460")
    assert (answer["Flags"], answer["Ack"], answer["Window, B"]) == ("SYN ACK", "1", "65160"), "a SYN's is not scaled"
    assert (data["Seq"], data["Ack"], data["Payload, B"], data["Window, B"]) == ("1", "1", "100", str(502 << 3))
    assert (ack["Seq"], ack["Ack"], ack["Window, B"]) == ("1", "101", str(524 << 4))


def test_nobody_scales_unless_both_do() -> None:
    assert [row["Window, B"] for row in rows([SYN, UNSCALED, DATA, ACK])] == ["64240", "65160", "502", "524"]


def test_windows_are_as_sent_where_the_handshake_is_not_in_the_capture() -> None:
    assert [row["Window, B"] for row in rows([DATA, ACK])] == ["502", "524"]


@pytest.mark.parametrize(
    ("first", "count", "shown"), [(1, 3, "13"), (3, 2, "34"), (4, 12, "4"), (5, 12, ""), (0, 1, "1")]
)
def test_packets_are_chosen_by_the_number_that_they_are_shown_with(first: int, count: int, shown: str) -> None:
    """What is not TCP has a number, and no row."""
    assert "".join(row["No."] for row in rows([SYN, OTHER, SYN_ACK, DATA], first, count)) == shown


def test_a_table_has_no_column_that_says_nothing() -> None:
    assert "MSS" in rows([SYN, DATA])[0]
    assert "MSS" not in rows([DATA, ACK])[0]


def test_the_capture_is_kept_whole() -> None:
    rows([SYN, SYN_ACK], first=2)
    assert Path("captures/kept.pcap").read_bytes() == Path("found.pcap").read_bytes()


def test_a_capture_without_a_transfer_is_refused() -> None:
    write(Path("arp.pcap"), [OTHER])
    with pytest.raises(InputError, match=r"arp.pcap: no TCP connection with data"):
        explained(Path("arp.pcap"))


def test_the_limits_of_a_transfer_are_shown_with_their_evidence() -> None:
    shown = explained(Path(__file__).parents[2] / "data" / "small_writes.pcap").text
    assert '<th role="rowheader" scope="row" data-label="Limit">Nagle</th>' in shown
    assert "waits for a delayed ACK" in shown
