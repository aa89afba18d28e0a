"""A sparse flow passes a bulk transfer's queue: it waits for frames that have left the queue, and not for the queue.

RFC 8290, sections 4.1 and 5.2: a flow that builds no queue of its own goes ahead of those that do.
"""

from lab import Arm, AtMost, Bulk, Duration, Experiment, Flow, Flows, Implied, Ping, Refutes, Within, metric, model

TWO_FRAMES = Implied(
    "42.75 ms",
    "40.2 ms of path with ping's own time, 1.23 ms at 10 Mbit/s for a frame on the wire and for one behind it, and "
    "half of the last digit that ping prints",
)


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
        Arm("fq_codel", TWO_FRAMES),
        Arm("fq_pie", TWO_FRAMES, links=queue("fq_pie")),
        Arm("cake", TWO_FRAMES, links=queue("cake")),
        Arm(
            "codel",
            TWO_FRAMES,
            links=queue("codel"),
            explains=Refutes("that CoDel alone would do: it has one queue for all, and the ping waits in it"),
        ),
    ),
    samples=10,
    tolerance=AtMost(because="the longest of 290 waits is a bound"),
    accuracy=Within(0.02, because="the longest of 290 waits is both frames but for a part of one"),
    expect="inconclusive",
    other_seeds=("reproduced",),
)
