"""Ways to set the MSS of a SYN: declared, made plain and read again; and at work in a guest, where nothing stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from scapy.layers.inet import IP, TCP

from lab.guest.middlebox import Middlebox, MssProgram, MssQueue, NftMaxseg, TcpMss
from lab.guest.middlebox.bpf import assembled
from lab.guest.middlebox.program import set_mss
from lab.guest.middlebox.queue import with_mss
from lab.guest.probe import Capture
from lab.guest.workload import Netcat
from lab.metric import largest_payload, mss_in
from lab.record.record import Record
from lab.units import Size, from_plain, to_plain

WIDE = Size(1460)
KINDS = [
    MssProgram(node="receiver", mss=WIDE),
    MssQueue(node="receiver", mss=WIDE),
    NftMaxseg(node="receiver", mss=Size(300)),
    TcpMss(node="receiver", mss=Size(300)),
]


@pytest.mark.parametrize("box", [*KINDS, TcpMss(node="a", mss=WIDE, way="in", interface="eth1")])
def test_a_middlebox_comes_back_whole(box: Any) -> None:
    assert from_plain(to_plain(box), cast(Any, Middlebox)) == box


def test_every_jump_of_the_program_leads_to_its_end() -> None:
    """The last two instructions let the packet go: R0 = 0 and exit."""
    lines, code = set_mss(1460), assembled(set_mss(1460))
    assert len(code) == 8 * (len(lines) + 2)
    leaving = [at for at, line in enumerate(lines) if line.leaves]
    targets = {at + 1 + int.from_bytes(code[8 * at + 2 : 8 * at + 4], "little") for at in leaving}
    assert targets == {len(lines)}
    assert code[-8:] == bytes([0x95, *bytes(7)])


def test_scapy_changes_the_option_and_the_checksum_alone() -> None:
    options = [("MSS", 460), ("SAckOK", b""), ("Timestamp", (7, 0)), ("NOP", None), ("WScale", 7)]
    syn = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2, flags="S", seq=9, options=options))
    raised = IP(with_mss(syn, 1460))
    assert raised[TCP].options == [("MSS", 1460), *options[1:]]
    assert bytes(raised)[:36] == syn[:36]
    redone = raised.copy()
    del redone[TCP].chksum
    assert bytes(redone) == bytes(raised)


@pytest.mark.guest
@pytest.mark.parametrize("box", KINDS, ids=lambda box: type(box).__name__)
def test_it_works_in_a_guest(perform: Callable[..., Record], box: Any) -> None:
    record = perform("asymmetric-mtu", Netcat(size=Size.of("50 kB")), [Capture(node="sender")], middleboxes=[box])
    assert mss_in("SYN")(record).number == box.mss.bytes
    assert largest_payload()(record).number == box.mss.bytes - 12
    match box:  # the rule as it was after the workload: one SYN met it
        case TcpMss():
            assert "-c 1 60 -j TCPMSS --set-mss 300" in record.text("iptables.receiver.txt")
        case NftMaxseg():
            found = [each["rule"]["expr"] for each in record.json("nft.receiver.json")["nftables"] if "rule" in each]
            assert [part["counter"]["packets"] for part in found[0] if "counter" in part] == [1]
