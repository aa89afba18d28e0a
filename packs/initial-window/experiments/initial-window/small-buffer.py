"""A burst of ten segments loses what a short buffer cannot hold: all but one on its way and those that queue.

RFC 6928, sections 5 and 6: the risk of the larger window is a slow link with a small buffer.
"""

from lab import Arm, Arrivals, Duration, Exactly, Experiment, Implied, Point, Size, Sweep, Value, law, metric, model

TRANSFERS = 5


@law(formula="transfers × max(0, 10 − 1 − limit)", source="RFC 6928, 2: ten segments at once")
def dropped(scenario: model.Scenario) -> Value:
    """It holds where the burst comes much faster than the link takes it, and is all that there is to send."""
    (queue,) = (hop.queue for hop in scenario.forward if hop.queue)
    return Value(TRANSFERS * max(0, 10 - 1 - int(dict(queue.parameters)["limit"])), "1")


def buffer(frames: int, lost: int) -> Point:
    """A buffer of so many frames, and how many of each burst it drops."""
    lost_of_all = Implied(TRANSFERS * lost, f"{lost} of ten in each of {TRANSFERS} transfers")
    return Point(frames, lost_of_all, links={"last-mile": {"forward": {"queue": {"kind": "pfifo", "limit": frames}}}})


EXPERIMENT = Experiment(
    topology="slow-last-mile",
    workload=Arrivals(count=TRANSFERS, interval=Duration.of("5 s"), size=Size(14_480), even=True),
    metric=metric.queue_drops("last-mile"),
    prediction=dropped,
    arms=(Arm("ten-segments"),),
    sweep=Sweep("buffer, frames", (buffer(10, 0), buffer(9, 0), buffer(7, 2), buffer(5, 4), buffer(3, 6))),
    tolerance=Exactly(because="it is a count"),
)
