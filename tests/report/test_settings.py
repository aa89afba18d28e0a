"""What a page says of settings and traffic: as a network engineer would note it."""

import re
from typing import Any

import pytest

from lab.guest.middlebox import TcpMss
from lab.guest.workload import Bulk, Flent, Flow, Flows, Netcat, PacedReader, Program, RequestResponse, SmallWrites
from lab.report.settings import describe, traffic
from lab.spec.experiment import Arm, Variant
from lab.units import Duration, Rate, Size


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
        (
            Bulk(duration=Duration.of("3 s")),
            "bulk, sender connects to receiver: duration 3 s, block 1 MiB, congestion cubic, watermark 16 KiB",
        ),
        (
            Bulk(size=Size.of("10 MiB")),  # its duration bounds nothing then
            "bulk, sender connects to receiver: size 10 MiB, block 1 MiB, congestion cubic, watermark 16 KiB",
        ),
        (
            Flent(test="tcp_download"),
            "flent, sender connects to receiver: test tcp_download, length 2 s, delay 1 s, step 50 ms",
        ),
        (
            Program(argv=("ask", "{server}", "1200"), service=("work", "{port}"), files=("ask",)),
            (
                "program, sender connects to receiver: argv ask {server} 1200, service work {port}, "
                "ready (listens, protocol tcp), files ask, limit 1 min"
            ),
        ),
        (Netcat(client="b", server="a", size=Size(10_000)), "netcat, b connects to a: size 10,000 B"),
        (
            SmallWrites(messages=2000, way="cork", file=Size.of("8 KiB")),
            "small writes, sender connects to receiver: messages 2,000, writes 15, size 2 B, way cork, file 8 KiB",
        ),
        (
            RequestResponse(count=5, request=Size(9), think=Duration.of("20 ms")),
            "request response, sender connects to receiver: count 5, interval 100 ms, request 9 B, think 20 ms",
        ),
        (
            PacedReader(duration=Duration.of("2 s"), rate=Rate.of("1 Mbit/s"), block=Size.of("64 KiB")),
            "paced reader, sender connects to receiver: duration 2 s, rate 1 Mbit/s, block 64 KiB",
        ),
    ],
)
def test_traffic(workload: Any, said: str) -> None:
    assert traffic(workload) == said


def test_equal_flows_are_described_once() -> None:
    few = Flows(tuple(Flow(f"flow-{number}", Bulk()) for number in (1, 2)))
    assert traffic(few) == f"flow-1, flow-2: {traffic(Bulk())}"
    many = Flows(
        tuple(Flow(f"flow-{number}", Bulk(client="rival" if number % 2 else "sender")) for number in range(12))
    )
    said = traffic(many)
    assert said.startswith("flow-0, flow-2 … flow-10 (6): bulk, sender connects to receiver")
    assert "; flow-1, flow-3 … flow-11 (6): bulk, rival connects to receiver" in said
