"""What a wire must show, whatever makes it and by whichever clock: shared by the tests of every fabric.

Virtual time is held to 0.1 % of goodput and 2 us of RTT, real time to 1 % and 0.2 ms. Chance is held to the binomial
distribution's 99.9 % interval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import pytest

from lab.metric import capture
from lab.probe import Capture
from lab.record.record import Record
from lab.units import Duration, Rate
from lab.workload import Bulk, Ping

GOODPUT = {"virtual": 0.001, "real": 0.01}
RTT = {"virtual": 2e-6, "real": 0.2e-3}
PING = 8 * (56 + 8 + 20 + 38)  # bits of a ping's frame on the wire


@dataclass(frozen=True)
class Case:
    """A gigabit link changed by `path`, what to do on it, and what its record has to hold (raises AssertionError).

    `check` takes the record and the clock's name.
    """

    path: Mapping[str, Any]
    workload: Any
    check: Callable[[Record, str], None]
    probes: tuple[Any, ...] = ()


def goodput(rate: str, mtu: int, seconds: str) -> Case:
    """R x (MTU - 40 - 12) / (MTU + 38): IPv4, TCP and timestamps off, Ethernet, FCS, preamble and gap on."""

    def check(record: Record, clock: str) -> None:
        bulk = record.json("bulk.json")
        found = 8e9 * (bulk["bytes"] - bulk["first_bytes"]) / (bulk["last_ns"] - bulk["first_ns"])
        assert found == pytest.approx(Rate.of(rate).bps * (mtu - 52) / (mtu + 38), rel=GOODPUT[clock])

    return Case({"rate": rate, "mtu": f"{mtu} B"}, Bulk(duration=Duration.of(seconds)), check)


def rtts(record: Record) -> list[float]:
    """Seconds of every answer that came."""
    return [float(found) / 1e3 for found in re.findall(r"time=([\d.]+) ms", record.text("ping.txt"))]


def rtt(delay: str) -> Case:
    """Two delays and two frames, as the sender's interface sees them: ping prints three digits, and adds its own work.

    The median: the first ping and the odd interrupt are nobody's wire.
    """

    def check(record: Record, clock: str) -> None:
        times = capture.Capture(record.path("capture.sender.eth0.pcap")).time_ns / 1e9
        wanted = 2 * (Duration.of(delay).seconds + PING / 100e6)
        assert median(times[1::2] - times[::2]) == pytest.approx(wanted, abs=RTT[clock])

    ping = Ping(count=5, interval=Duration.of("500 ms"))  # longer than any RTT here: requests and answers take turns
    return Case({"rate": "100 Mbit/s", "delay": delay}, ping, check, (Capture(node="sender", filter="icmp"),))


def by_chance(found: int, count: int, chance: float) -> bool:
    """Whether `found` of `count` is within the binomial distribution's 99.9 % interval."""
    return abs(found - count * chance) <= 3.29 * math.sqrt(count * chance * (1 - chance))


def loss(chance: float, count: int) -> Case:
    """So many pings go missing."""

    def check(record: Record, _: str) -> None:
        assert by_chance(count - len(rtts(record)), count, chance)

    return Case({"forward": {"loss": f"{100 * chance:g} %"}}, Ping(count=count, interval=Duration.of("4 ms")), check)


def reorder(chance: float, count: int) -> Case:
    """So many pings skip the 10 ms that the others take."""

    def check(record: Record, _: str) -> None:
        early = sum(1 for each in rtts(record) if each < 5e-3)
        assert by_chance(early, count, chance)

    path = {"forward": {"delay": "10 ms", "reorder": f"{100 * chance:g} %"}}
    return Case(path, Ping(count=count, interval=Duration.of("20 ms")), check)


CASES = {
    "10 Mbit/s": goodput("10 Mbit/s", 1500, "2 s"),
    "100 Mbit/s": goodput("100 Mbit/s", 1500, "1 s"),
    "1 Gbit/s": goodput("1 Gbit/s", 1500, "1 s"),
    "MTU 576": goodput("10 Mbit/s", 576, "2 s"),
    "MTU 9000": goodput("100 Mbit/s", 9000, "1 s"),
    "no delay": rtt("0 ms"),
    "10 ms": rtt("10 ms"),
    "200 ms": rtt("200 ms"),
    "loss": loss(0.1, 400),
    "reordering": reorder(0.25, 100),
}
