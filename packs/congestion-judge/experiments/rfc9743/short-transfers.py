"""How long do transfers of 150 kB take on an idle link?

RFC 9743, section 5.1.5, short flows.
"""

from lab import Arm, Arrivals, Drawn, Duration, Flow, Flows, QueueState, Size, Study, metric


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            Flow(
                "judged",
                Arrivals(
                    client="receiver",
                    server="sender",
                    count=25,
                    interval=Duration.of("800 ms"),
                    size=Size.of("150 kB"),
                    even=True,
                    congestion=control,
                ),
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    workload=flows("cubic"),
    probes=(QueueState(link="bottleneck", interval=Duration.of("500 ms")),),
    metrics={
        "completion time": metric.of_flow("judged", metric.completion_time(0.5)),
        "drops": metric.queue_drops("bottleneck"),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
