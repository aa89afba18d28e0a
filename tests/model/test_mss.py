"""What each end announces, hears and sends, over a way of 1500 bytes and one of 500 back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lab import model
from lab.model import End, Hop, ModelError, Path
from lab.units import Duration, Rate, Size

RATE = Rate.of("100 Mbit/s")


def hop(mtu: int, delay: str = "0 ms") -> Hop:
    return Hop(RATE, Duration.of(delay), Size(mtu), 10_000, 0.0)


def path(*boxes: dict[str, Any], delay: str = "0 ms", **changed: Any) -> Path:
    workload = {"kind": "netcat", "client": "receiver", "server": "sender"}
    plain = Path(
        (hop(1500, delay),),
        (hop(500, delay),),
        workload=workload,
        middleboxes=boxes,
        sender=End(name="sender"),
        receiver=End(name="receiver"),
    )
    return replace(plain, **changed)


def box(kind: str, mss: int = 1460, node: str = "receiver", way: str = "out") -> dict[str, Any]:
    return {"kind": kind, "node": node, "way": way, "mss": f"{mss} B"}


def sizes(path: Path) -> tuple[float, float, float, float]:
    """SYN, SYN-ACK, full segments ahead and back."""
    of = (model.mss_of_syn, model.mss_of_syn_ack, model.largest_payload, model.largest_payload_back)
    return tuple(each(path).number for each in of)  # type: ignore[return-value]


def test_the_small_mtu_bounds_both_ways() -> None:
    assert sizes(path()) == (460, 1460, 448, 448)
    assert sizes(path(timestamps=False)) == (460, 1460, 460, 460)


@pytest.mark.parametrize("raised", [box("mss_program"), box("mss_queue"), box("mss_program", node="sender", way="in")])
def test_a_raised_syn_raises_one_way(raised: dict[str, Any]) -> None:
    assert sizes(path(raised)) == (1460, 1460, 1448, 448)


def test_a_routes_advmss_does_the_same() -> None:
    assert sizes(path(receiver=End(name="receiver", advmss=Size(1460)))) == (1460, 1460, 1448, 448)


@pytest.mark.parametrize("kind", ["tcp_mss", "nft_maxseg"])
def test_a_firewall_only_lowers(kind: str) -> None:
    assert sizes(path(box(kind))) == (460, 1460, 448, 448)
    assert sizes(path(box(kind, 300))) == (300, 1460, 288, 448)


def test_but_a_patched_one_raises() -> None:
    patched = path(box("tcp_mss"), patches=("xt-tcpmss-may-raise",))
    assert sizes(patched) == (1460, 1460, 1448, 448)


def test_maxseg_bounds_what_its_socket_announces_and_sends() -> None:
    workload = {"kind": "bulk", "client": "sender", "server": "receiver"}
    assert sizes(path(workload={**workload, "maxseg": "1460 B"})) == (1460, 460, 448, 448)
    assert sizes(path(workload={**workload, "maxseg": "300 B"})) == (300, 460, 288, 288)


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
    receiver = End(name="receiver", sysctls={"net.ipv4.tcp_rmem": f"4096 {initial} {buffer}"})
    boxes = [box("mss_program")] if raised else []
    tested = path(*boxes, delay=delay, size=Size.of("200 MiB"), rcvbuf_max=buffer, receiver=receiver)
    assert model.transfer_time(tested).number == pytest.approx(measured, rel=0.001)


def test_the_last_ack_may_be_late_and_does_not_slow_the_rest() -> None:
    """It waits for a second segment: what is extrapolated from a part of 200 MiB must not have that in it."""
    written = {"write_size": 1 << 20, "rcvlowat": 16384, "sendfile": True}
    tested = path(delay="5 ms", size=Size.of("200 MiB"), rcvbuf_max=6291456, **written)
    assert model.transfer_time(tested).number == pytest.approx(20.20, rel=0.001)


def test_a_path_that_loses_is_not_covered() -> None:
    lossy = path(size=Size.of("200 MiB"), forward=(replace(hop(1500, "10 ms"), loss=1e-4),))
    with pytest.raises(ModelError, match="loses frames"):
        model.transfer_time(lossy)
