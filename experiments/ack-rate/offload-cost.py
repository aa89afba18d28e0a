"""Turning the offloads off costs CPU time and throughput.

Said beside the `ethtool` commands. In real time, over a link without a rate, so that the CPU is the bottleneck. There
is no network card in a guest: its offloads are batches in software, and what they save is work per packet.
"""

from collections.abc import Mapping
from typing import Any

from lab import (
    Above,
    Arm,
    Below,
    Bulk,
    Capture,
    CpuTime,
    Demonstrated,
    Duration,
    Experiment,
    Implied,
    Size,
    metric,
    model,
)

ON = {host: {"offloads": {"tso": True, "gso": True, "gro": True}} for host in ("sender", "receiver")}
SINGLE = {"sender": {"gso_max_segs": 1}}
MERGED = {"receiver": {"offloads": {"gro": True}, "coalescing": "100 us"}}
FIXED_WINDOW: Mapping[str, int | str] = {"net.ipv4.tcp_rmem": "4096 6291456 6291456", "net.ipv4.tcp_moderate_rcvbuf": 0}
NOTICED = (
    "it says more and less, and not how much: what repeats on one machine differ by, 5 %, nobody would call a cost"
)
MORE, LESS = Above(0.05, because=NOTICED), Below(0.05, because=NOTICED)
CPU = Implied(1, "what it takes with them on: turning them off 'will increase to system CPU'", part="costs CPU time")
GOODPUT = Implied(1, "what it is with them on: 'and reduce the data performance'", part="costs throughput")


def packets(name: str, hosts: Mapping[str, Any]) -> Arm:
    """What costs the CPU time, counted in virtual time: packets through the receiver's TCP, over a gigabit link."""
    return Arm(
        name,
        clock="virtual",
        samples=1,
        links={"path": {"rate": "1 Gbit/s", "shaper": "nic"}},
        sysctls=FIXED_WINDOW,
        workload=Bulk(duration=Duration.of("600 ms")),
        probes=(Capture(node="receiver"),),
        metric=metric.packets_per_gb(start=0.05, end=0.6),
        prediction=model.packets_per_gb,
        explains=Demonstrated("the cost is one of packets, and offloads make many into one"),
        hosts=hosts,
    )


EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"rate": None}},
    clock="real",
    samples=6,
    workload=Bulk(size=Size.of("4 GiB"), duration=Duration.of("60 s")),
    probes=(CpuTime(),),
    metric=metric.cpu_per_gb(),
    arms=(
        Arm("cpu-on", hosts=ON, title="CPU time, offloads on"),
        Arm("cpu-off", CPU, relative_to="cpu-on", tolerance=MORE, title="CPU time, off over on"),
        Arm(
            "cpu-off-single-segments",
            CPU,
            relative_to="cpu-on",
            tolerance=MORE,
            hosts=SINGLE,
            title="CPU time, off and gso_max_segs 1, over on",
        ),
        Arm("goodput-on", hosts=ON, metric=metric.bulk_goodput(), title="goodput, offloads on"),
        Arm(
            "goodput-off",
            GOODPUT,
            relative_to="goodput-on",
            tolerance=LESS,
            metric=metric.bulk_goodput(),
            title="goodput, off over on",
        ),
        packets("packets-on", MERGED),
        packets("packets-off", {}),
    ),
    tolerance=MORE,
)
