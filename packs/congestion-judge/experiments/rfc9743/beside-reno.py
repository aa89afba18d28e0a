"""Which share of the goodput does a Reno flow get beside the flow under judgement?

RFC 9743, section 5.2.1, existing general-purpose congestion control.
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
                "reno",
                Bulk(client="rival", congestion="reno", duration=Duration.of("30 s"), block=BLOCK),
                spread=Duration.of("1 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"share of Reno": metric.flow_share("reno", 5, 28)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
