"""Which share of the goodput does the flow under judgement get beside CUBIC at a deep buffer?

RFC 9743, section 5.2, which asks for the potential of starvation; the buffer holds four bandwidth-delay products.
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
                "cubic",
                Bulk(client="rival", congestion="cubic", duration=Duration.of("30 s"), block=BLOCK),
                spread=Duration.of("1 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"queue": {"kind": "pfifo", "limit": 160}}}},
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"own share": metric.flow_share("judged", 5, 28)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
