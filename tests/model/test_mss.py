"""What each end announces, hears and sends, over a way of 1500 bytes and one of 500 back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lab import model
from lab.guest.middlebox import MssProgram, MssQueue, NftMaxseg, TcpMss
from lab.guest.task import Interference, Writer
from lab.guest.workload import Bulk
from lab.model import KernelTraits, ModelError, Scenario
from lab.units import Size
from tests.model.scenarios import hop, host, scenario

Setter = type[MssProgram] | type[MssQueue] | type[NftMaxseg] | type[TcpMss]
NETCAT = Writer(size=200 << 20)
RAISED = MssProgram(node="receiver", mss=Size(1460))


def path(*boxes: Interference, delay: str = "0 ms", **changed: Any) -> Scenario:
    there, back = (hop("100 Mbit/s", delay, mtu) for mtu in (1500, 500))
    return scenario(there, back, middleboxes=boxes, **{"client": "receiver", **changed})


def sizes(path: Scenario) -> tuple[float, float, float, float]:
    """SYN, SYN-ACK, full segments ahead and back."""
    of = (model.mss_of_syn, model.mss_of_syn_ack, model.largest_payload, model.largest_payload_back)
    return tuple(each(path).number for each in of)  # type: ignore[return-value]


def test_the_small_mtu_bounds_both_ways() -> None:
    assert sizes(path()) == (460, 1460, 448, 448)
    assert sizes(path(timestamps=False)) == (460, 1460, 460, 460)


@pytest.mark.parametrize(
    "raised",
    [RAISED, MssQueue(node="receiver", mss=Size(1460)), MssProgram(node="sender", mss=Size(1460), way="in")],
)
def test_a_raised_syn_raises_one_way(raised: Interference) -> None:
    assert sizes(path(raised)) == (1460, 1460, 1448, 448)


def test_a_routes_advmss_does_the_same() -> None:
    assert sizes(path(receiver=host("receiver", advmss=1460))) == (1460, 1460, 1448, 448)


@pytest.mark.parametrize("firewall", [TcpMss, NftMaxseg])
def test_a_firewall_only_lowers(firewall: Setter) -> None:
    assert sizes(path(firewall(node="receiver", mss=Size(1460)))) == (460, 1460, 448, 448)
    assert sizes(path(firewall(node="receiver", mss=Size(300)))) == (300, 1460, 288, 448)


def test_a_middlebox_elsewhere_or_the_other_way_sets_no_syn_of_this_end() -> None:
    for elsewhere in (MssProgram(node="router", mss=Size(300)), MssProgram(node="receiver", mss=Size(300), way="in")):
        assert sizes(path(elsewhere))[0] == 460


def test_but_a_patched_one_raises() -> None:
    patched = KernelTraits(patches=("xt-tcpmss-may-raise",))
    assert sizes(path(TcpMss(node="receiver", mss=Size(1460)), kernel=patched)) == (1460, 1460, 1448, 448)


def test_maxseg_bounds_what_its_socket_announces_and_sends() -> None:
    for maxseg, expected in ((1460, (1460, 460, 448, 448)), (300, (300, 460, 288, 288))):
        assert sizes(path(client="sender", writer=Bulk(maxseg=Size(maxseg)).writer())) == expected


@pytest.mark.long
@pytest.mark.parametrize(
    ("delay", "raised", "buffer", "measured"),
    [  # seconds that 200 MiB took on Linux 7.2.13
        ("0 ms", False, 6291456, 20.14773),
        ("0 ms", True, 6291456, 17.82037),
        ("10 ms", False, 6291456, 20.28362),
        ("10 ms", True, 6291456, 17.91292),
        ("10 ms", False, 115072, 75.71923),
        ("10 ms", True, 292881, 24.12088),
    ],
)
def test_transfer_time_within_a_thousandth_of_linux(delay: str, raised: bool, buffer: int, measured: float) -> None:
    initial = min(buffer, 131072)
    receiver = host("receiver", tcp_rmem=f"4096 {initial} {buffer}")
    tested = path(*[RAISED] * raised, delay=delay, writer=NETCAT, receiver=receiver)
    assert model.transfer_time(tested).number == pytest.approx(measured, rel=0.001)


@pytest.mark.long
def test_the_last_ack_may_be_late_and_does_not_slow_the_rest() -> None:
    """It waits for a second segment: what is extrapolated from a part of 200 MiB must not have that in it."""
    bulk = Bulk(size=Size.of("200 MiB"))
    tested = path(delay="5 ms", writer=bulk.writer(), reader=bulk.reader())
    assert model.transfer_time(tested).number == pytest.approx(20.20, rel=0.001)


def test_a_path_that_loses_is_not_covered() -> None:
    lossy = replace(path(writer=NETCAT), forward=(hop("100 Mbit/s", "10 ms", loss=1e-4),))
    with pytest.raises(ModelError, match="loses frames"):
        model.transfer_time(lossy)
