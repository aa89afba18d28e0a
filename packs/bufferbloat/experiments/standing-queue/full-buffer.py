"""One transfer fills a tail-drop buffer, and every round trip through it is longer by the buffer's size over its rate.

Gettys and Nichols (2011); by Little's law, 125 kB at 10 Mbit/s are a tenth of a second, and 1 MB is most of one.
"""

from lab import Arm, Bulk, Duration, Experiment, Flow, Flows, Implied, Ping, Point, Size, Sweep, Within, metric, model


def buffer(text: str) -> Point:
    """A buffer of this size, and 40 ms of path with as long as 10 Mbit/s take for it."""
    size = Size.of(text)
    longest = Implied(f"{40 + size.bytes * 8 / 10_000:g} ms", "40 ms, and buffer / rate")
    return Point(size, longest, links={"uplink": {"forward": {"queue": {"kind": "bfifo", "limit": text}}}})


EXPERIMENT = Experiment(
    topology="home-uplink",
    workload=Flows(
        (
            Flow("bulk", Bulk(duration=Duration.of("60 s"))),
            Flow("ping", Ping(client="rival", count=600, interval=Duration.of("100 ms"))),
        )
    ),
    metric=metric.of_flow("ping", metric.ping_rtt("max")),
    prediction=model.rtt_through_full_queue,
    arms=(Arm("tail-drop"),),
    sweep=Sweep("buffer", (buffer("62500 B"), buffer("125 kB"), buffer("250 kB"), buffer("500 kB"), buffer("1 MB"))),
    tolerance=Within(0.05, because="the size over the rate leaves out what frames have around them, 2 %"),
    accuracy=Within(0.02, because="a ping meets the fullest moment but for the frames that leave in between"),
)
