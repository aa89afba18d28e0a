"""How evenly do the flow under judgement and CUBIC share a DualPI2 queue?

RFC 9743, section 7.1; RFC 9332, whose dual queue couples classic and scalable senders.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            Flow(
                "judged", Bulk(congestion=control, duration=Duration.of("25 s"), block=BLOCK), spread=Duration.of("1 s")
            ),
            Flow(
                "cubic",
                Bulk(client="rival", congestion="cubic", duration=Duration.of("25 s"), block=BLOCK),
                spread=Duration.of("1 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"queue": "dualpi2"}}},
    sysctls={"net.ipv4.tcp_ecn": 1},
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"Jain's index": metric.jain_index(5, 23)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
