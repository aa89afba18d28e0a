"""Which share of packets do four flows lose at a buffer of half a bandwidth-delay product?

RFC 9743, section 5.1.3, protection against high packet loss.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            *(
                Flow(
                    f"judged-{number}",
                    Bulk(client=client, congestion=control, duration=Duration.of("15 s"), block=BLOCK),
                    spread=Duration.of("1 s"),
                )
                for number, client in enumerate(("sender", "rival") * 2, 1)
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"queue": {"kind": "pfifo", "limit": 20}}}},
    workload=flows("cubic"),
    probes=(
        QueueState(link="bottleneck", interval=Duration.of("100 ms")),
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
    ),
    metrics={
        "dropped share": metric.queue_dropped_share("bottleneck"),
        "utilisation": metric.utilisation("bottleneck", 4, 14),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(after=Duration.of("3 s"), because="slow start has ended"),
    drawn=Drawn(),
)
