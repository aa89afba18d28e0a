"""How evenly do two flows share a bottleneck if one of them comes six seconds later?

RFC 9743, section 5.1.4, and 7.8, transient events.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            Flow("judged", Bulk(congestion=control, duration=Duration.of("20 s"), block=BLOCK)),
            Flow(
                "judged-late",
                Bulk(client="rival", congestion=control, duration=Duration.of("14 s"), block=BLOCK),
                start=Duration.of("6 s"),
                spread=Duration.of("1 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"Jain's index": metric.jain_index(9, 19)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
