"""A loss halves the window."""

import numpy as np

from lab import (
    Arm,
    AtLeast,
    AtMost,
    Bulk,
    Capture,
    Duration,
    Experiment,
    Metric,
    Record,
    TcpInfo,
    Value,
    Within,
    metric,
)
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

PAIR = "../../../topologies/symmetric-1g.yaml"
RENO = Bulk(congestion="reno", duration=Duration.of("25 s"))
SHORT, STEADY, END = 5, 8.0, 24.0  # frames that the short queue holds; seconds: past slow start, before the end
RECOVERY = 3  # include/uapi/linux/tcp.h: TCP_CA_Recovery


def queued(frames: Answer) -> dict[str, dict[str, object]]:
    """20 Mbit/s over 40 ms, with a queue of so many frames before the link."""
    queue = {"kind": "pfifo", "limit": int(frames)}
    return {"path": {"rate": "20 Mbit/s", "delay": "20 ms", "forward": {"queue": queue}}}


def seconds_between_losses(record: Record) -> Value:
    """Measure the mean time from one recovery of the sender to the next, by the kernel's own account."""
    samples = metric.tcp_info_of(record, "sender")
    since = (samples.time_ns - samples.time_ns[0]) / 1e9
    recovers = (samples["ca_state"] == RECOVERY).astype(int)
    begins = since[1:][np.diff(recovers) > 0]
    later = begins[begins >= STEADY]
    if len(later) < 2:
        raise metric.MetricError("there were fewer than two losses")
    return Value(float(later[-1] - later[0]) / (len(later) - 1), "s")


def longest_round_trip(record: Record) -> Value:
    """Measure the longest smoothed round-trip time of the kernel's, past slow start."""
    samples = metric.tcp_info_of(record, "sender")
    since = (samples.time_ns - samples.time_ns[0]) / 1e9
    return Value(float(samples["rtt"][since >= STEADY].max()) / 1e6, "s")


def short_queue(said: Said, measure: Metric, tolerance: float) -> Experiment:
    """Reno with next to no queue before the link."""
    return Experiment(
        topology=PAIR,
        links=queued(SHORT),
        workload=RENO,
        probes=(Capture(node="sender"), TcpInfo(node="sender")),
        metric=measure,
        arms=(Arm("said", said, title=f"a queue of {SHORT} frames"),),
        tolerance=Within(
            tolerance, because="a loss is noticed and mended in round trips of its own, and five frames may queue"
        ),
    )


def filled(frames: Answer) -> Experiment:
    """Whether a queue keeps the link full, and is no longer than it must be."""
    return Experiment(
        topology=PAIR,
        links=queued(frames),
        workload=RENO,
        probes=(Capture(node="sender"), TcpInfo(node="sender")),
        metric=metric.acked_goodput(STEADY, END),
        arms=(
            Arm("goodput", Goal("18.7 Mbit/s")),
            Arm(
                "longest-round-trip",
                Goal("90 ms"),
                metric=longest_round_trip,
                tolerance=AtMost(because="a longer queue only adds delay"),
            ),
        ),
        tolerance=AtLeast(because="that is the goal"),
    )


EXERCISE = Exercise(
    minutes=25,
    goals=(
        "to predict the period of Reno's sawtooth, and its mean, from rate and round-trip time",
        "to read congestion window, loss and recovery in a figure and in a capture",
        "to compute the queue that keeps a link full though the window halves",
    ),
    reading=("RFC 5681, section 3 (slow start, congestion avoidance, fast recovery)", "RFC 9438 (CUBIC)"),
    steps=(
        Predict(
            name="period",
            asks="How many seconds pass from one loss to the next?",
            unit="s",
            experiment=lambda said: short_queue(said, seconds_between_losses, 0.25),
            hints=(
                Hint("The window need not grow from nothing: after a loss half of it is left.", 1.4, 2.5),
                Hint("It grows by one segment in a round trip, not in a second.", 10.0),
                Hint("It grows by one segment in a round trip, not with each ACK.", 0.0, 0.2),
                Hint("Half of the largest window has to grow back, a segment in each 40 ms."),
            ),
        ),
        Predict(
            name="goodput",
            asks="How many Mbit/s of payload does the link carry in the long run?",
            unit="Mbit/s",
            experiment=lambda said: short_queue(said, metric.acked_goodput(STEADY, END), 0.1),
            hints=(
                Hint("So much it carries at the top of the sawtooth. What does it carry at the bottom?", 1.2),
                Hint("So much it carries at the bottom of the sawtooth. What does it carry at the top?", 0.0, 0.8),
                Hint("Take the mean of half the link's 18.8 Mbit/s and all of it."),
            ),
        ),
        Choose(
            name="why",
            asks="Right after a loss the link is half empty. Why?",
            options={
                "a": "The lost segment has to be sent again, and that fills the other half.",
                "b": "The receiver closes its window until the lost segment is there.",
                "c": "Next to none of the window was in the queue: the half that is left fills half the path.",
                "d": "The sender waits for its retransmission timer, 200 ms at least.",
            },
            remarks={
                "a": "One segment of 1448 bytes is sent again, and that is all.",
                "b": "The receive window in the figure stays far above what is in flight.",
                "c": "With a queue as long as the path holds, half of the window would still fill the path.",
                "d": "Fast recovery does without the timer: the retransmission leaves after three duplicate ACKs.",
            },
            digest="f38607fdf33271e98dad98f3edde7cef5988b3a67d5712c02ce7df07d72c9d0e",
        ),
        Reach(
            name="queue",
            asks="Which queue keeps the link full, with no round trip longer than 90 ms?",
            unit="frames",
            low=2,
            high=500,
            experiment=filled,
            hints={
                "goodput": "Half of (path + queue) must still fill the path. How many frames fill 20 Mbit/s x 40 ms?",
                "longest-round-trip": "A full queue adds its frames' time on the wire, 0.615 ms each, to 40 ms.",
            },
        ),
    ),
)
