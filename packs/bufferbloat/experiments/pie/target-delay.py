"""PIE holds the mean delay of a busy queue at its target, 15 ms.

RFC 8033, section 4.2, with eight transfers of Reno over 40 ms.
"""

from lab import metric, model
from lab.probe import QueueState
from lab.spec.experiment import Arm, Experiment, Implied, Point, Sweep, Within
from lab.units import Duration
from lab.workload import Bulk, Flow, Flows


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
    tolerance=Within(0.2, because="the minute has its start in it, when the controller has yet to learn"),
    accuracy=Within(0.2, because="the law is for a controller that has settled, and the minute has its start in it"),
)
