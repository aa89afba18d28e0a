"""Does a flow carry what its application offers, which is about half of the link's rate?

RFC 9743, section 5.1.5; RFC 7661, on senders limited by their application: 32 KiB every 40 ms.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            Flow(
                "judged",
                Bulk(
                    congestion=control,
                    duration=Duration.of("15 s"),
                    block=Size.of("32 KiB"),
                    effort=Duration.of("40 ms"),
                ),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"utilisation": metric.utilisation("bottleneck", 2, 14)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
