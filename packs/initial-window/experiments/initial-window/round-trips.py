"""Ten segments take two round trips with the handshake; thirty take three, and seventy take four.

RFC 6928: an initial window of ten segments, which slow start doubles in each round trip.
"""

from lab import Arm, Arrivals, Duration, Experiment, Implied, Point, Size, Sweep, Within, metric, model


def fetched(segments: int, trips: int) -> Point:
    """Responses of this many segments of 1448 B, one after the other."""
    size = Size(segments * 1448)
    workload = Arrivals(count=5, interval=Duration.of("1 s"), size=size, even=True)
    return Point(size, Implied(Duration.of(f"{trips * 10} ms"), f"{trips} round trips of 10 ms"), workload=workload)


EXPERIMENT = Experiment(
    topology="delay-10ms",
    workload=Arrivals(),
    metric=metric.completion_time(),
    prediction=model.completion_time_by_rounds,
    arms=(Arm("initial-window-10"),),
    sweep=Sweep(
        "response",
        (fetched(1, 2), fetched(10, 2), fetched(11, 3), fetched(30, 3), fetched(31, 4), fetched(70, 4), fetched(71, 5)),
    ),
    tolerance=Within(0.02, because="a round trip has no other part than the segments' own time, 12 us each"),
)
