"""TCP holds a message's writes back to fill a packet with them: one that is too small for that waits 40 ms.

The explanation of the first run: 400,129.78 ms are 40.01 ms for each of 10,000 messages of 30 bytes.
"""

from lab import metric, model
from lab.spec.experiment import Arm, Experiment, Point, Sweep, Within
from lab.units import Duration, Size
from lab.workload import SmallWrites


def of(size: int, reported: Duration | None = None) -> Point:
    """Messages of 15 writes of `size` bytes each."""
    return Point(Size(15 * size), reported, workload=SmallWrites(messages=20, size=Size(size)))


EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"delay": "240 us"}},  # two round trips within a tick of 1 ms: the stall is the timer's alone
    workload=SmallWrites(),
    metric=metric.message_latency(),
    prediction=model.message_latency,
    arms=(
        Arm("near"),
        Arm(
            "far",
            links={"path": {"delay": "10 ms"}},
            explains="with 10 ms each way the stall is the same, and a message takes two round trips instead of one",
        ),
    ),
    sweep=Sweep(
        "message",
        (of(2, reported=Duration(40_012_978)), of(20), of(80), of(100), of(120), of(150), of(200), of(400)),
    ),
    tolerance=Within(0.05, because="since Linux 4.8 a timer fires a tick later, here of 1 ms: see nagle-stall"),
)
