"""PIE holds the mean delay of a busy queue at its target, 15 ms.

RFC 8033, section 4.2, with eight transfers of Reno over 40 ms.
"""

from lab import (
    Arm,
    Bulk,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Point,
    QueueState,
    Steady,
    Sweep,
    Within,
    metric,
    model,
)


def target(text: str) -> Point:
    """Another target than the RFC's, where the controller should rest as well."""
    return Point(text, Implied(text, "the target"), links={"uplink": {"forward": {"queue": {"target": text}}}})


EXPERIMENT = Experiment(
    topology="home-uplink",
    links={"uplink": {"forward": {"queue": {"kind": "pie", "limit": 1000}}}},
    workload=Flows(
        tuple(
            Flow(f"bulk-{number}", Bulk(congestion="reno", duration=Duration.of("60 s")), spread=Duration.of("1 s"))
            for number in range(1, 9)
        )
    ),
    probes=(QueueState(link="uplink", interval=Duration.of("50 ms")),),
    metric=metric.mean_queue_delay("uplink"),
    prediction=model.pie_target,
    arms=(Arm("pie"),),
    sweep=Sweep("target", (target("15 ms"), target("30 ms"))),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.05, because="'at its target' is but for a twentieth: less than a frame of 1.2 ms"),
    accuracy=Within(0.05, because="a queue holds whole frames, of 1.2 ms each"),
)
