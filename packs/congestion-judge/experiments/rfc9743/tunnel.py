"""How long is the queue behind a CoDel that marks the outer headers of a tunnel?

RFC 9743, section 6.2; RFC 6040, whose tunnel ends copy marks between the outer and the inner header.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("15 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-tunnel",
    links={"bottleneck": {"forward": {"queue": {"kind": "codel", "ecn": True}}}},
    sysctls={"net.ipv4.tcp_ecn": 1},
    workload=flows("cubic"),
    probes=(
        QueueState(link="bottleneck", interval=Duration.of("50 ms")),
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
    ),
    metrics={
        "queue delay": metric.mean_queue_delay("bottleneck"),
        "utilisation": metric.utilisation("bottleneck", 4, 14),
        "marked share": metric.queue_marked_share("bottleneck"),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(after=Duration.of("3 s"), because="slow start has ended"),
    drawn=Drawn(),
)
