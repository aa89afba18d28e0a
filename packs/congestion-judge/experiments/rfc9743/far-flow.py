"""Which share does a flow with 100 ms of round trip get beside one with 40 ms?

RFC 9743, section 5.1.4; Lakshman and Madhow (1997), on the unfairness of tail-drop queues to long round trips.
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
                "judged-far",
                Bulk(client="rival", congestion=control, duration=Duration.of("30 s"), block=BLOCK),
                spread=Duration.of("1 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"rival-access": {"delay": "30 ms"}},
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"share of the far flow": metric.flow_share("judged-far", 5, 28)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
