"""Which share of packets does a flow lose at a policer of 12 Mbit/s, whose bucket holds a bandwidth-delay product?

A.16, handle a token bucket policer; Flach and others (2016), "An Internet-Wide Analysis of Traffic Policing". The tbf
holds one frame that waits for tokens, and drops all others. So it is a policer but for one frame.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")
POLICER = {"kind": "tbf", "burst": "61520 B", "limit": "1538 B"}  # 40 frames, and one


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("20 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"queue": POLICER}}},
    workload=flows("cubic"),
    probes=(
        QueueState(link="bottleneck", interval=Duration.of("100 ms")),
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
    ),
    metrics={
        "dropped share": metric.queue_dropped_share("bottleneck"),
        "utilisation": metric.utilisation("bottleneck", 5, 19),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(after=Duration.of("5 s"), because="slow start has ended"),
    drawn=Drawn(),
)
