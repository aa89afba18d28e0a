"""How do the flow under judgement and a rival share a bottleneck?

RFC 9743, section 5.2, mixed algorithm behavior; `lab cc --against` chooses the rival's congestion control.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            Flow(
                "judged", Bulk(congestion=control, duration=Duration.of("30 s"), block=BLOCK), spread=Duration.of("1 s")
            ),
            Flow(
                "rival",
                Bulk(client="rival", congestion="cubic", duration=Duration.of("30 s"), block=BLOCK),
                spread=Duration.of("1 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    workload=flows("cubic"),
    probes=(
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
        QueueState(link="bottleneck", interval=Duration.of("100 ms")),
    ),
    metrics={
        "share of the rival": metric.flow_share("rival", 5, 28),
        "utilisation": metric.utilisation("bottleneck", 5, 28),
        "queue delay": metric.mean_queue_delay("bottleneck"),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(after=Duration.of("5 s"), because="slow start has ended"),
    drawn=Drawn(),
)
