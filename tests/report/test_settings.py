"""What a page says of settings and traffic: as a network engineer would note it."""

import re
from typing import Any

import pytest

from lab.middlebox import TcpMss
from lab.report.settings import describe, traffic
from lab.spec.experiment import Arm, Variant
from lab.units import Duration, Rate, Size
from lab.workload import Bulk, Flent, Netcat, PacedReader, RequestResponse, SmallWrites


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"links": {"path": {"rate": None}}}, ["path: unlimited rate"]),
        (
            {"links": {"path": {"forward": {"delay": "100000 us", "limit": 20000}}}},
            ["path forward: delay 100 ms, limit 20,000"],
        ),
        (
            {"links": {"path": {"delay": Duration(0), "back": {"mtu": "1000 B"}}}},
            ["path: no delay", "path back: MTU 1,000 B"],
        ),
        ({"links": {"path": {"ends": {"receiver": {"advmss": "1460 B"}}}}}, ["path at receiver: advmss 1,460 B"]),
        ({"hosts": {"sender": {"offloads": {"tso": True, "gro": False}}}}, ["sender: TSO on, GRO off"]),
        ({"sysctls": {"net.ipv4.tcp_sack": 0}}, ["net.ipv4.tcp_sack = 0"]),
        (
            {"kernel": Variant(patches=("a.patch",), hz=250), "clock": "real"},
            ["kernel with a.patch", "HZ 250", "in real time"],
        ),
        ({"middleboxes": (TcpMss(node="r", mss=Size(1460)),)}, ["tcp_mss at r: MSS 1,460 B, way out, interface eth0"]),
        ({}, []),
    ],
)
def test_settings(changes: dict[str, Any], said: list[str]) -> None:
    assert re.findall("<code>(.*?)</code>", describe(Arm("a", **changes))) == said


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (Bulk(size=Size.of("10 MiB")), "bulk, sender to receiver: 10 MiB"),
        (Flent(test="tcp_download"), "flent, sender to receiver: tcp_download"),
        (Netcat(client="b", server="a", size=Size(10_000)), "netcat, b connects to a: 10,000 B"),
        (SmallWrites(messages=20, way="cork"), "sender to receiver: 20 messages of 15 writes of 2 B (cork)"),
        (
            SmallWrites(messages=2000, file=Size.of("8 KiB")),
            "sender to receiver: 2,000 messages of 15 writes of 2 B, and 8 KiB of a file (plain)",
        ),
        (
            RequestResponse(count=5, interval=Duration.of("100 ms"), think=Duration.of("20 ms"), response=Size(1)),
            "sender to receiver: 5 requests of 1 B, one every 100 ms, answered after 20 ms",
        ),
        (
            PacedReader(duration=Duration.of("2 s"), rate=Rate.of("1 Mbit/s"), block=Size.of("64 KiB")),
            "sender to receiver: a greedy sender for 2 s, a reader of 64 KiB at a time at 1 Mbit/s",
        ),
    ],
)
def test_traffic(workload: Any, said: str) -> None:
    assert traffic(workload) == said
