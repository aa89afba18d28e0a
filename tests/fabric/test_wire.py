"""Wires against physics: what real packets do on them, in virtual time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest

from lab.metric import capture, tcp_info
from lab.probe import Capture, TcpInfo
from lab.record.record import Record
from lab.units import Duration, Rate, Size
from lab.workload import Bulk, Ping

pytestmark = pytest.mark.guest

Perform = Callable[..., Record]

SECONDS = {"10 Mbit/s": "10 s", "100 Mbit/s": "4 s", "1 Gbit/s": "2 s", "10 Gbit/s": "500 ms"}


def goodput(record: Record) -> float:
    """bit/s between the first read and the last."""
    bulk = record.json("bulk.json")
    return 8e9 * float(bulk["bytes"] - bulk["first_bytes"]) / float(bulk["last_ns"] - bulk["first_ns"])


def rtts(record: Record) -> list[float]:
    """Milliseconds of every answer that came."""
    return [float(found) for found in re.findall(r"time=([\d.]+) ms", record.text("ping.txt"))]


@pytest.mark.parametrize("mtu", [576, 1500, 9000])
@pytest.mark.parametrize("rate", list(SECONDS))
def test_goodput_is_the_rate_less_the_headers(perform: Perform, rate: str, mtu: int) -> None:
    """R x (MTU - 40 - 12) / (MTU + 38): IPv4, TCP and timestamps off, Ethernet, FCS, preamble and gap on."""
    duration = Duration(Duration.of(SECONDS[rate]).ns // (5 if mtu == 576 else 1))
    record = perform("symmetric-1g", Bulk(duration=duration), links={"path": {"rate": rate, "mtu": f"{mtu} B"}})
    assert record.invalid == ()
    assert goodput(record) == pytest.approx(Rate.of(rate).bps * (mtu - 52) / (mtu + 38), rel=0.001)


@pytest.mark.parametrize("delay", ["0 ms", "1 ms", "10 ms", "100 ms", "200 ms"])
@pytest.mark.parametrize("size", [56, 1472])
def test_idle_rtt_is_two_delays_and_two_frames(perform: Perform, delay: str, size: int) -> None:
    record = perform(
        "symmetric-1g",
        Ping(count=5, interval=Duration.of("500 ms"), size=Size(size)),
        (Capture(node="sender", filter="icmp"),),
        links={"path": {"rate": "100 Mbit/s", "delay": delay}},
    )
    times = capture.Capture(record.path("capture.sender.eth0.pcap")).time_ns / 1e9
    frame = size + 8 + 20 + 38
    expected = 2 * (Duration.of(delay).seconds + 8 * frame / 100e6)
    assert list(times[1::2] - times[::2]) == pytest.approx([expected] * 5, abs=2e-6)


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.1])
def test_loss_is_within_the_binomial_interval(perform: Perform, loss: float) -> None:
    count = 5000
    record = perform(
        "symmetric-1g",
        Ping(count=count, interval=Duration.of("20 ms")),
        links={"path": {"forward": {"loss": f"{100 * loss} %"}}},
    )
    lost = count - len(rtts(record))
    assert abs(lost - count * loss) <= 3.29 * math.sqrt(count * loss * (1 - loss)), "outside the 99.9 % interval"
    wires = {each["direction"]: each for each in record.json("qdiscs.after.json") if each["node"] == "path"}
    assert wires["back"]["drops"] == 0
    assert 0 <= wires["forward"]["drops"] - lost <= 3, "beside the pings, only IPv6's first few words are on the wire"


def test_one_way_delay_acts_one_way(perform: Perform) -> None:
    record = perform("delay-100ms", Ping(count=2))
    assert rtts(record) == [pytest.approx(100, abs=0.5)] * 2


def test_the_limit_drops_what_the_wire_cannot_hold(perform: Perform) -> None:
    """At 1 Mbit/s a burst of 64 KiB is 44 frames; a wire that holds 10 drops, one that holds 100 does not."""

    def drops(limit: int) -> int:
        record = perform(
            "symmetric-1g", Bulk(size=Size.of("64 KiB")), links={"path": {"rate": "1 Mbit/s", "limit": limit}}
        )
        return sum(each["drops"] for each in record.json("qdiscs.after.json"))

    assert drops(10) > 0
    assert drops(100) == 0


def test_a_network_card_pushes_back_and_a_path_does_not(perform: Perform) -> None:
    """TCP keeps the queue of a NIC short, two super-packets or 10 ms here; a path takes the whole window."""

    def queued(shaper: str) -> int:
        record = perform(
            "symmetric-1g",
            Bulk(duration=Duration.of("1 s")),
            (TcpInfo(interval=Duration.of("1 ms")),),
            links={"path": {"rate": "100 Mbit/s", "shaper": shaper}},
        )
        (samples,) = tcp_info.read(record.path("tcp_info.sender.bin"))
        return int(samples["rtt"].max())

    assert queued("nic") < 15_000 < 40_000 < queued("path")


def test_a_network_card_keeps_its_rate(perform: Perform) -> None:
    record = perform("symmetric-1g", Bulk(duration=Duration.of("2 s")), links={"path": {"shaper": "nic"}})
    assert goodput(record) == pytest.approx(1e9 * 1448 / 1538, rel=0.001)


@pytest.mark.parametrize("ip", [4, 6])
def test_both_ip_versions_carry_tcp(perform: Perform, ip: int) -> None:
    record = perform("symmetric-1g", Bulk(duration=Duration.of("500 ms"), ip=ip))
    overhead = 52 if ip == 4 else 72
    assert goodput(record) == pytest.approx(1e9 * (1500 - overhead) / 1538, rel=0.001)


def test_a_router_forwards(perform: Perform) -> None:
    record = perform("shared-bottleneck", Ping(client="rival", server="receiver", count=2))
    assert len(rtts(record)) == 2
