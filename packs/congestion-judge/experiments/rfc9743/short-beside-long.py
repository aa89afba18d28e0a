"""How long do short transfers take beside a long flow at a deep buffer?

RFC 9743, sections 5.1.5 and 5.2.3, short and long flows; the short transfers use CUBIC, and the buffer holds three
bandwidth-delay products.
"""

from lab import Arm, Arrivals, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            Flow("judged", Bulk(congestion=control, duration=Duration.of("18 s"), block=BLOCK)),
            Flow(
                "short",
                Arrivals(
                    client="receiver", server="rival", count=40, interval=Duration.of("300 ms"), size=Size.of("14480 B")
                ),
                start=Duration.of("4 s"),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"queue": {"kind": "pfifo", "limit": 120}}}},
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={
        "completion time": metric.of_flow("short", metric.completion_time(0.5)),
        "utilisation": metric.utilisation("bottleneck", 4, 16),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
