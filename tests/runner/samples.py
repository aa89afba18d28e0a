"""Short trials that together have every kind of workload, probe and middlebox."""

from __future__ import annotations

from typing import Any

from lab.guest.middlebox import (
    DropSegment,
    Firewall,
    LoseSegments,
    LostSegment,
    Masquerade,
    MssProgram,
    MssQueue,
    NftMaxseg,
    TcpMss,
)
from lab.guest.probe import Capture, CpuTime, ExpertInfo, Netstat, QueueState, TcpInfo
from lab.guest.workload import (
    Arrivals,
    Bulk,
    Flent,
    Flow,
    Flows,
    Iperf,
    Iperf3,
    Netcat,
    OnOff,
    PacedReader,
    Ping,
    Program,
    Qperf,
    RequestResponse,
    SmallWrites,
)
from lab.units import Duration, Rate, Size

__all__ = ["SAMPLES"]

# Topology, workload, probes, middleboxes.
SECOND = Duration.of("1 s")
SAMPLES: dict[str, tuple[str, Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "flent": ("lossy", Flent(length=SECOND), (Netstat(node="sender"),), ()),
    "iperf3": ("shared-bottleneck", Iperf3(duration=SECOND), (Capture(node="sender"), TcpInfo()), ()),
    "iperf": ("lossy", Iperf(duration=SECOND), (Capture(node="sender"),), ()),
    "loss": ("lossy", Bulk(duration=Duration.of("500 ms")), (Capture(), TcpInfo(node="receiver")), ()),
    "small-writes": (
        "loopback",
        SmallWrites(client="host", server="host", messages=50, way="nodelay"),
        (Capture(node="host", interface="lo"),),
        (),
    ),
    "ping": ("two-hosts", Ping(count=3), (Capture(node="sender"),), ()),
    "qperf": ("lossy", Qperf(duration=SECOND), (ExpertInfo(node="sender"),), ()),
    "slow reader": ("lossy", PacedReader(duration=SECOND, rate=Rate.of("10 Mbit/s")), (Capture(), CpuTime()), ()),
    "small writes": ("lossy", SmallWrites(messages=20), (TcpInfo(node="sender"),), ()),
    "flows": (
        "shared-bottleneck",
        Flows((Flow("bulk", Bulk(duration=SECOND)), Flow("short", Arrivals(count=5), start=Duration.of("100 ms")))),
        (Capture(node="sender"), TcpInfo()),
        (),
    ),
    "arrivals": ("lossy", Arrivals(count=5), (Capture(node="sender"),), ()),
    "on and off": ("lossy", OnOff(duration=SECOND), (Capture(node="sender"),), ()),
    "program": (
        "lossy",
        Program(argv=("sh", "-c", "date +%N; sleep 0.1; date +%N; cat /proc/uptime")),
        (Capture(node="sender"),),
        (),
    ),
    "nat": (
        "nat",
        Ping(count=3),
        (Capture(node="receiver"), QueueState(link="uplink")),
        (Masquerade(node="nat"), Firewall(node="nat")),
    ),
    "requests": (
        "routed-1g",
        RequestResponse(count=5, request=Size(200), response=Size(1)),
        (Capture(node="sender"),),
        (DropSegment(node="router", number=3),),
    ),
    "losses": (
        "two-hosts",
        Bulk(size=Size.of("256 KiB")),
        (Capture(node="sender"),),
        (LoseSegments(link="path", segments=(LostSegment(14_480), LostSegment(14_480, 2), LostSegment(90_000))),),
    ),
    "middleboxes": (
        "asymmetric-mtu",
        Netcat(size=Size.of("1 MiB")),
        (Capture(node="sender"),),
        (
            MssProgram(node="sender", mss=Size(460)),
            TcpMss(node="sender", mss=Size(450)),
            MssQueue(node="sender", mss=Size(440)),
            NftMaxseg(node="receiver", mss=Size(430)),
        ),
    ),
}
