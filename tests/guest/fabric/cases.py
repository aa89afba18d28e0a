"""What a wire must show: one table of cases, each with the clocks and the fabrics that it is held by.

Virtual time is held to 0.1 % of goodput and 2 us of RTT, real time to 1 % and 0.2 ms. Chance is held to the binomial
distribution's 99.9 % interval.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import pytest

from lab.guest import outputs
from lab.guest.fabric import FABRICS
from lab.guest.probe import Capture
from lab.guest.task import IpNumber
from lab.guest.workload import Bulk, Ping
from lab.metric.capture import Capture as Packets
from lab.record.record import Record
from lab.units import Duration, Rate, Size

GOODPUT = {"virtual": 0.001, "real": 0.01}
RTT = {"virtual": 2e-6, "real": 0.2e-3}

Setting = tuple[str, str]  # clock, fabric
OURS: tuple[Setting, ...] = (("virtual", FABRICS[0]),)
VIRTUAL: tuple[Setting, ...] = tuple(("virtual", fabric) for fabric in FABRICS)
REAL: tuple[Setting, ...] = tuple(("real", fabric) for fabric in FABRICS)
EVERYWHERE: tuple[Setting, ...] = (*VIRTUAL, *REAL)


def anything(_: Record, __: str) -> None:
    """That every setting reads back is asked of all records."""


@dataclass(frozen=True)
class Case:
    """A network changed by `changes`, what to do on it, and what its record has to hold (raises AssertionError).

    `check` takes the record and the clock's name.
    """

    changes: Mapping[str, Any]
    workload: Any
    check: Callable[[Record, str], None] = anything
    probes: tuple[Any, ...] = ()
    where: tuple[Setting, ...] = OURS
    topology: str = "symmetric-1g"


def bulk_goodput(record: Record) -> float:
    """bit/s between the first read and the last."""
    bulk = record.json(outputs.BULK)
    return 8e9 * float(bulk["bytes"] - bulk["first_bytes"]) / float(bulk["last_ns"] - bulk["first_ns"])


def rtts(record: Record) -> list[float]:
    """Seconds of every answer that came, in the order in which they came."""
    return [float(found) / 1e3 for found in re.findall(r"time=([\d.]+) ms", record.text(outputs.PING))]


def by_chance(found: int, count: int, chance: float) -> bool:
    """Whether `found` of `count` is within the binomial distribution's 99.9 % interval."""
    return abs(found - count * chance) <= 3.29 * math.sqrt(count * chance * (1 - chance))


def goodput(
    rate: str, mtu: int, seconds: str, where: tuple[Setting, ...] = OURS, ip: IpNumber = 4, **path: Any
) -> Case:
    """R x (MTU - 40 - 12) / (MTU + 38): IPv4, TCP and timestamps off, Ethernet, FCS, preamble and gap on."""

    def check(record: Record, clock: str) -> None:
        payload = mtu - (52 if ip == 4 else 72)
        assert bulk_goodput(record) == pytest.approx(Rate.of(rate).bps * payload / (mtu + 38), rel=GOODPUT[clock])

    links = {"path": {"rate": rate, "mtu": f"{mtu} B", **path}}
    return Case({"links": links}, Bulk(duration=Duration.of(seconds), ip=ip), check, where=where)


def steady(rate: str, delay: str, mtu: int, seconds: str) -> Case:
    """The same, of the second half: it takes a transfer that long to be steady."""

    def check(record: Record, clock: str) -> None:
        seen = Packets(record.path(outputs.capture("receiver", "eth0")))
        half = len(seen.time_ns) // 2
        found = 8e9 * float(seen.payload[half + 1 : -1].sum()) / float(seen.time_ns[-2] - seen.time_ns[half])
        assert found == pytest.approx(Rate.of(rate).bps * (mtu - 52) / (mtu + 38), rel=GOODPUT[clock])

    path = {"rate": rate, "delay": delay, "mtu": f"{mtu} B"}
    probes = (Capture(node="receiver", filter="tcp dst port 5001"),)
    return Case({"links": {"path": path}}, Bulk(duration=Duration.of(seconds)), check, probes, VIRTUAL)


def rtt(delay: str, size: int = 56, rate: str = "100 Mbit/s", where: tuple[Setting, ...] = OURS) -> Case:
    """Two delays and two frames, as the sender's interface sees them: ping prints three digits, and adds its own work.

    In real time the median: the first ping and the odd interrupt are nobody's wire.
    """

    def check(record: Record, clock: str) -> None:
        times = Packets(record.path(outputs.capture("sender", "eth0"))).time_ns / 1e9
        found = list(times[1::2] - times[::2])
        wanted = 2 * (Duration.of(delay).seconds + 8 * (size + 8 + 20 + 38) / Rate.of(rate).bps)
        if clock == "real":
            found = [median(found)]
        assert len(found) in (1, 5)
        assert found == pytest.approx([wanted] * len(found), abs=RTT[clock])

    path = {"rate": rate, "delay": delay, "mtu": f"{max(1500, size + 28)} B"}
    interval = Duration(2 * Duration.of(delay).ns + 250_000_000)  # longer than the RTT: they take turns
    ping = Ping(count=5, interval=interval, size=Size(size))
    return Case({"links": {"path": path}}, ping, check, (Capture(node="sender", filter="icmp"),), where)


def loss(chance: float, count: int, interval: str, where: tuple[Setting, ...] = OURS) -> Case:
    """So many pings go missing, and the wire counts them."""

    def check(record: Record, _: str) -> None:
        lost = count - len(rtts(record))
        assert by_chance(lost, count, chance)
        before, after = (
            {each["direction"]: each["drops"] for each in record.json(name) if each["node"] == "path"}
            for name in (outputs.QDISCS_BEFORE, outputs.QDISCS_AFTER)
        )  # in real time, frames that measured the wire were lost before
        assert after["back"] == before["back"]
        found = after["forward"] - before["forward"]
        assert 0 <= found - lost <= 3, "next to the pings, only IPv6's first few words are there"

    path = {"forward": {"loss": f"{100 * chance:g} %"}}
    return Case({"links": {"path": path}}, Ping(count=count, interval=Duration.of(interval)), check, where=where)


def reorder(chance: float, count: int, delay: str, where: tuple[Setting, ...]) -> Case:
    """So many pings skip the delay that the others take; with one every 20 ms, one may pass those before it."""

    def check(record: Record, _: str) -> None:
        assert by_chance(sum(1 for each in rtts(record) if each < Duration.of(delay).seconds / 2), count, chance)
        order = [int(found) for found in re.findall(r"icmp_seq=(\d+).*time=", record.text(outputs.PING))]
        if Duration.of(delay) > Duration.of("20 ms"):
            assert any(first > second for first, second in itertools.pairwise(order)), "none overtook another"

    path = {"forward": {"delay": delay, "reorder": f"{100 * chance:g} %"}}
    ping = Ping(count=count, interval=Duration.of("20 ms"))
    return Case({"links": {"path": path}}, ping, check, where=where)


def answered(topology: str, milliseconds: float, ping: Ping, where: tuple[Setting, ...]) -> Case:
    """Every ping is answered, after so long: the delays, and four frames of 122 B. ping prints three digits."""

    def check(record: Record, _: str) -> None:
        assert rtts(record) == [pytest.approx(milliseconds / 1e3, abs=0.1e-3)] * ping.count

    return Case({}, ping, check, where=where, topology=topology)


def read_back(**changes: Any) -> Case:
    """Beyond Mininet's own links, too."""
    return Case(changes, Ping(count=1), where=VIRTUAL)


CASES = {
    "10 Mbit/s": goodput("10 Mbit/s", 1500, "2 s", EVERYWHERE),
    "100 Mbit/s": goodput("100 Mbit/s", 1500, "1 s", EVERYWHERE),
    "1 Gbit/s": goodput("1 Gbit/s", 1500, "1 s", EVERYWHERE),
    "10 Gbit/s": goodput("10 Gbit/s", 1500, "500 ms"),
    "MTU 576": goodput("10 Mbit/s", 576, "2 s", EVERYWHERE),
    "MTU 576 at 100 Mbit/s": goodput("100 Mbit/s", 576, "800 ms"),
    "MTU 576 at 1 Gbit/s": goodput("1 Gbit/s", 576, "400 ms"),
    "MTU 576 at 10 Gbit/s": goodput("10 Gbit/s", 576, "100 ms"),
    "MTU 9000": goodput("100 Mbit/s", 9000, "1 s", EVERYWHERE),
    "MTU 9000 at 10 Mbit/s": goodput("10 Mbit/s", 9000, "10 s"),
    "MTU 9000 at 1 Gbit/s": goodput("1 Gbit/s", 9000, "2 s"),
    "MTU 9000 at 10 Gbit/s": goodput("10 Gbit/s", 9000, "500 ms"),
    "a network card": goodput("1 Gbit/s", 1500, "2 s", shaper="nic"),
    "IPv6": goodput("1 Gbit/s", 1500, "500 ms", ip=6),
    "steady at 10 Mbit/s": steady("10 Mbit/s", "0 ms", 1500, "4 s"),
    "steady at 200 ms": steady("10 Mbit/s", "200 ms", 576, "12 s"),
    "steady at 10 ms": steady("100 Mbit/s", "10 ms", 9000, "4 s"),
    "steady at 1 Gbit/s": steady("1 Gbit/s", "0 ms", 1500, "1 s"),
    "steady at 5 ms": steady("1 Gbit/s", "5 ms", 1500, "2 s"),
    "no delay": rtt("0 ms", where=EVERYWHERE),
    "1 ms": rtt("1 ms"),
    "5 ms at 1 Gbit/s": rtt("5 ms", 1472, "1 Gbit/s", VIRTUAL),
    "10 ms": rtt("10 ms", where=EVERYWHERE),
    "100 ms": rtt("100 ms"),
    "200 ms": rtt("200 ms", where=EVERYWHERE),
    "200 ms at 10 Mbit/s": rtt("200 ms", 548, "10 Mbit/s", VIRTUAL),
    **{f"{delay}, a full frame": rtt(delay, 1472) for delay in ("0 ms", "1 ms", "10 ms", "100 ms", "200 ms")},
    "10 ms, a jumbo frame": rtt("10 ms", 8972, where=VIRTUAL),
    "one way": answered("delay-100ms", 100, Ping(count=2), OURS),
    "a router": answered(
        "shared-bottleneck", 20.02, Ping(client="rival", count=3, interval=Duration.of("100 ms")), VIRTUAL
    ),
    # ping spins for the last 10 ms before it sends. In virtual time that costs seconds: there, others hold the wires.
    "loss": loss(0.1, 400, "4 ms", REAL),
    **{f"loss of {chance:g}": loss(chance, 5000, "20 ms") for chance in (0.001, 0.01, 0.1)},
    "loss of 0.02": loss(0.02, 2000, "20 ms", VIRTUAL),
    "reordering": reorder(0.25, 100, "10 ms", REAL),
    "overtaking": reorder(0.1, 1000, "90 ms", VIRTUAL),
    "another rate back": read_back(
        links={"path": {"rate": "40 Gbit/s", "back": {"rate": "1 Mbit/s", "loss": "3 %", "limit": 7}}}
    ),
    "another MTU back": read_back(links={"path": {"shaper": "nic", "back": {"mtu": "500 B"}}}),
    "offloads": read_back(
        hosts={"sender": {"offloads": {"gro": True, "gso": True}, "coalescing": "20 us", "gso_max_segs": 3}}
    ),
    "buffers": read_back(
        sysctls={"net.ipv4.tcp_rmem": "4096 131072 1000000", "net.ipv4.tcp_wmem": "4096 16384 1000000"}
    ),
}


def held_by(clock: str) -> list[tuple[str, str]]:
    """(case, fabric) of all that are held by that clock."""
    return [(name, fabric) for name, case in CASES.items() for which, fabric in case.where if which == clock]
