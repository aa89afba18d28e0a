"""Does one flow keep a link full whose bandwidth-delay product is less than a packet?

A.13, correctly manage sub-packet BDPs: 500 kbit/s over 10 ms.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("20 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"rate": "500 kbit/s", "delay": "5 ms", "forward": {"queue": {"kind": "pfifo", "limit": 20}}}},
    workload=flows("cubic"),
    probes=(
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
        QueueState(link="bottleneck", interval=Duration.of("100 ms")),
    ),
    metrics={
        "utilisation": metric.utilisation("bottleneck", 5, 18),
        "queue delay": metric.mean_queue_delay("bottleneck"),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(after=Duration.of("5 s"), because="slow start has ended"),
    drawn=Drawn(),
)
