"""One suite for every fabric: what it builds keeps to physics, whoever made the namespaces."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from lab.fabric import FABRICS
from lab.metric import capture
from lab.probe import Capture
from lab.record.record import Record
from lab.units import Duration, Rate, Size
from lab.workload import Bulk, Ping

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("fabric", FABRICS)]

Perform = Callable[..., Record]

WIRES = [  # rate, delay, MTU, and how long a transfer takes to be steady for half of it
    ("10 Mbit/s", "0 ms", 1500, "4 s"),
    ("10 Mbit/s", "200 ms", 576, "12 s"),
    ("100 Mbit/s", "10 ms", 9000, "4 s"),
    ("1 Gbit/s", "0 ms", 1500, "1 s"),
    ("1 Gbit/s", "5 ms", 1500, "2 s"),
]


@pytest.mark.parametrize(("rate", "delay", "mtu", "duration"), WIRES)
def test_goodput_and_rtt(perform: Perform, fabric: str, rate: str, delay: str, mtu: int, duration: str) -> None:
    """Of the second half: R x (MTU - 52) / (MTU + 38). Of a ping: two delays and two frames. Within 0.1 %."""
    changes = {"links": {"path": {"rate": rate, "delay": delay, "mtu": f"{mtu} B"}}}
    transfer = perform(
        "symmetric-1g",
        Bulk(duration=Duration.of(duration)),
        (Capture(node="receiver", filter="tcp dst port 5001"),),
        fabric=fabric,
        **changes,
    )
    assert transfer.invalid == ()
    seen = capture.Capture(transfer.path("capture.receiver.eth0.pcap"))
    half = len(seen.time_ns) // 2
    goodput = 8e9 * float(seen.payload[half + 1 : -1].sum()) / float(seen.time_ns[-2] - seen.time_ns[half])
    assert goodput == pytest.approx(Rate.of(rate).bps * (mtu - 52) / (mtu + 38), rel=0.001)

    echo = perform(
        "symmetric-1g",
        Ping(count=5, size=Size(mtu - 28), interval=Duration.of("500 ms")),
        (Capture(node="sender", filter="icmp"),),
        fabric=fabric,
        **changes,
    )
    times = capture.Capture(echo.path("capture.sender.eth0.pcap")).time_ns / 1e9
    expected = 2 * (Duration.of(delay).seconds + 8 * (mtu + 38) / Rate.of(rate).bps)
    assert list(times[1::2] - times[::2]) == pytest.approx([expected] * 5, rel=0.001, abs=2e-6)


def within(found: int, count: int, chance: float) -> bool:
    """The binomial 99.9 % interval."""
    return abs(found - count * chance) <= 3.29 * math.sqrt(count * chance * (1 - chance))


def test_loss(perform: Perform, fabric: str) -> None:
    count, loss = 2000, 0.02
    record = perform(
        "symmetric-1g",
        Ping(count=count, interval=Duration.of("20 ms")),
        fabric=fabric,
        links={"path": {"forward": {"loss": "2 %"}}},
    )
    assert record.invalid == ()
    assert within(count - record.text("ping.txt").count("time="), count, loss)


def test_reordering(perform: Perform, fabric: str) -> None:
    """A frame that overtakes has no delay: with one every 20 ms, it passes the four before it."""
    count, chance = 1000, 0.1
    record = perform(
        "symmetric-1g",
        Ping(count=count, interval=Duration.of("20 ms")),
        fabric=fabric,
        links={"path": {"forward": {"delay": "90 ms", "reorder": "10 %"}}},
    )
    assert record.invalid == ()
    lines = [line for line in record.text("ping.txt").splitlines() if "time=" in line]
    late = [float(line.partition("time=")[2].split()[0]) for line in lines]
    assert within(sum(time < 1 for time in late), count, chance)
    order = [int(line.partition("icmp_seq=")[2].split()[0]) for line in lines]
    assert any(first > second for first, second in itertools.pairwise(order)), "none overtook another"


@pytest.mark.parametrize(
    "changes",
    [
        {"links": {"path": {"rate": "40 Gbit/s", "back": {"rate": "1 Mbit/s", "loss": "3 %", "limit": 7}}}},
        {"links": {"path": {"shaper": "nic", "back": {"mtu": "500 B"}}}},
        {"hosts": {"sender": {"offloads": {"gro": True, "gso": True}, "coalescing": "20 us", "gso_max_segs": 3}}},
        {"sysctls": {"net.ipv4.tcp_rmem": "4096 131072 1000000", "net.ipv4.tcp_wmem": "4096 16384 1000000"}},
    ],
)
def test_every_setting_reads_back(perform: Perform, fabric: str, changes: dict[str, object]) -> None:
    """Beyond Mininet's own links: above 1 Gbit/s, other settings each way, MTUs, a card, offloads, buffers."""
    assert perform("symmetric-1g", Ping(count=1), fabric=fabric, **changes).invalid == ()


def test_a_router_forwards(perform: Perform, fabric: str) -> None:
    record = perform("shared-bottleneck", Ping(client="rival", count=3, interval=Duration.of("100 ms")), fabric=fabric)
    assert record.text("ping.txt").count("time=20") == 3
