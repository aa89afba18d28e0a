"""The queue of two DCTCP flows stays near the threshold from which on the switch marks.

Section 3.3; thresholds of 20, 40 and 65 frames, the paper's for 1 and 10 Gbit/s among them.
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
    Program,
    QueueState,
    Steady,
    Sweep,
    Within,
    metric,
    model,
)

START, LENGTH, SPREAD = Duration.of("100 ms"), Duration.of("2 s"), Duration.of("10 ms")
BOTH_ENDS = Flow(
    "both-ends",
    Program(argv=("python3", "{files}/_both_ends.py"), files=("_both_ends.py",), client="receiver"),
)


def threshold(frames: int, microseconds: int) -> Point:
    """So many frames, and how long they take at a gigabit."""
    queue = {"ce_threshold": f"{microseconds} us"}
    return Point(
        frames,
        Implied(f"{microseconds} us", "the threshold, in time at a gigabit"),
        links={
            "port": {
                "forward": {
                    "queue": {"kind": "codel", "limit": 10000, "target": "1 s", "interval": "2 s", "ecn": True, **queue}
                }
            }
        },
    )


EXPERIMENT = Experiment(
    topology="rack",
    workload=Flows(
        (
            BOTH_ENDS,
            Flow("first", Bulk(client="sender", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
            Flow("second", Bulk(client="rival", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
        )
    ),
    probes=(QueueState(link="port", interval=Duration.of("1 ms")),),
    metric=metric.mean_queue_delay("port"),
    prediction=model.dctcp_queue_delay,
    arms=(Arm("two-flows"),),
    sweep=Sweep("threshold, frames", (threshold(20, 246), threshold(40, 492), threshold(65, 800))),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.25, because="'near' is no figure; a queue without a threshold would be many times as long"),
    accuracy=Within(0.2, because="the model's flows are in step, and saw to the frame"),
    unexplained="a saw-tooth swings from the threshold downwards, so its mean is below; the law has 769 of 800 µs for "
    "that, and the rest is open",
    expect="not reproduced",
)
