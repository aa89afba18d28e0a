"""A loss halves the window."""

import numpy as np

from lab import metric
from lab.probe import Capture, TcpInfo
from lab.record.record import Record
from lab.spec.claimed import Reported
from lab.spec.exercise import Answer, Choose, Exercise, Hint, Predict, Reach
from lab.spec.experiment import Arm, AtLeast, AtMost, Experiment, Within
from lab.units import Duration, Value
from lab.workload import Bulk

PAIR = "../../../topologies/symmetric-1g.yaml"
RENO = Bulk(congestion="reno", duration=Duration.of("40 s"))
SHORT, STEADY, END = 5, 10.0, 39.0  # frames that the short queue holds; seconds: past slow start, before the end
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


def short_queue(said: Reported, of: str) -> Experiment:
    """Reno with next to no queue before the link."""
    measures = {"period": seconds_between_losses, "goodput": metric.acked_goodput(STEADY, END)}
    return Experiment(
        topology=PAIR,
        links=queued(SHORT),
        workload=RENO,
        probes=(Capture(node="sender"), TcpInfo(node="sender")),
        metric=measures[of],
        arms=(Arm("said", said),),
        tolerance=Within(0.1, because="the queue is not quite empty, and a loss is noticed a round trip late"),
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
            Arm("goodput", Reported("18.7 Mbit/s", "the goal")),
            Arm(
                "longest-round-trip",
                Reported("90 ms", "the goal"),
                metric=longest_round_trip,
                tolerance=AtMost(because="a longer queue only adds delay"),
            ),
        ),
        tolerance=AtLeast(because="that is the goal"),
    )


EXERCISE = Exercise(
    minutes=25,
    goals=(),
    reading=(),
    steps=(
        Predict(name="period", asks="?", unit="s", experiment=lambda said: short_queue(said, "period")),
        Predict(name="goodput", asks="?", unit="Mbit/s", experiment=lambda said: short_queue(said, "goodput")),
        Reach(name="queue", asks="?", unit="frames", low=2, high=1000, experiment=filled),
    ),
)
