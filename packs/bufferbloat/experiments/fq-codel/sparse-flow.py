"""A sparse flow passes a bulk transfer's queue: it waits for one frame and not for the queue.

RFC 8290, sections 4.1 and 5.2: a flow that builds no queue of its own goes ahead of those that do.
"""

from lab import metric, model
from lab.spec.experiment import Arm, Experiment, Implied, Refutes, Within
from lab.units import Duration
from lab.workload import Bulk, Flow, Flows, Ping

ONE_FRAME = Implied("41.4 ms", "40 ms of path with ping's own time, and 1.23 ms for a frame at 10 Mbit/s")
NO_LONGER = "a digit of milliseconds: the queue without it is hundreds of them"


def queue(kind: str) -> dict[str, dict[str, dict[str, str]]]:
    """This kind of queue, with all its parameters as the kernel has them."""
    return {"uplink": {"forward": {"queue": kind}}}


EXPERIMENT = Experiment(
    topology="home-uplink",
    links=queue("fq_codel"),
    workload=Flows(
        (
            *(Flow(f"bulk-{number}", Bulk(duration=Duration.of("30 s"))) for number in range(1, 5)),
            Flow("ping", Ping(client="rival", count=290, interval=Duration.of("101 ms"))),
        )
    ),
    metric=metric.of_flow("ping", metric.ping_rtt("max")),
    prediction=model.rtt_of_sparse_flow,
    arms=(
        Arm("fq_codel", ONE_FRAME),
        Arm("fq_pie", ONE_FRAME, links=queue("fq_pie")),
        Arm("cake", ONE_FRAME, links=queue("cake")),
        Arm(
            "codel",
            ONE_FRAME,
            links=queue("codel"),
            explains=Refutes("that CoDel alone would do: it has one queue for all, and the ping waits in it"),
        ),
    ),
    samples=10,
    tolerance=Within(0.03, because=NO_LONGER),
    accuracy=Within(0.02, because="the longest of 290 waits is the whole frame but for a part of it"),
)
