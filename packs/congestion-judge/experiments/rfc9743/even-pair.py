"""How evenly do two flows share a bottleneck?

RFC 9743, section 5.1.4, fairness within the proposed congestion control algorithm.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            Flow(
                "judged", Bulk(congestion=control, duration=Duration.of("30 s"), block=BLOCK), spread=Duration.of("1 s")
            ),
            Flow(
                "judged-rival",
                Bulk(client="rival", congestion=control, duration=Duration.of("30 s"), block=BLOCK),
                spread=Duration.of("1 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"Jain's index": metric.jain_index(10, 28)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
