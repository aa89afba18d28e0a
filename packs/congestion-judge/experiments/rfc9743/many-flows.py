"""How evenly do twenty flows share a bottleneck that holds four packets for each?

RFC 9743, section 5.1.4; Chiu and Jain (1989): any number of flows.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            *(
                Flow(
                    f"judged-{number}",
                    Bulk(client=client, congestion=control, duration=Duration.of("20 s"), block=BLOCK),
                    spread=Duration.of("1 s"),
                )
                for number, client in enumerate(("sender", "rival") * 10, 1)
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("1 s")),),
    metrics={"Jain's index": metric.jain_index(5, 19), "utilisation": metric.utilisation("bottleneck", 5, 19)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
