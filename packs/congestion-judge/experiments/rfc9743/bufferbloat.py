"""How long is the queue that one flow keeps, if the buffer holds five bandwidth-delay products?

RFC 9743, section 5.1.2, protection against bufferbloat.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("20 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"queue": {"kind": "pfifo", "limit": 200}}}},
    workload=flows("cubic"),
    probes=(
        QueueState(link="bottleneck", interval=Duration.of("50 ms")),
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
    ),
    metrics={
        "queue delay": metric.mean_queue_delay("bottleneck"),
        "utilisation": metric.utilisation("bottleneck", 5, 19),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(after=Duration.of("5 s"), because="slow start has ended and the queue has drained"),
    drawn=Drawn(),
)
