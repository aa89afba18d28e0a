"""15 pieces copied to one buffer and written at once, with TCP_NODELAY, are one packet, and faster than 15 writes.

One of the techniques that the article recommends, without a figure.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Arm, Below, Exactly, Experiment
from lab.workload import SmallWrites, WriteStyle


def of(way: WriteStyle) -> SmallWrites:
    """2,000 messages, over the loopback."""
    return SmallWrites(client="host", server="host", messages=2000, way=way)


EXPERIMENT = Experiment(
    topology="loopback",
    path=("host", "host"),
    workload=of("one-buffer"),
    metric=metric.message_latency(0.05),  # the fastest, which other load on the machine leaves alone
    arms=(
        Arm(
            "packets",
            reported=1,
            probes=(Capture(node="host", interface="lo"),),
            metric=metric.data_packets("host"),
            prediction=model.data_packets,
        ),
        Arm("15-writes-time", workload=of("nodelay"), clock="real", samples=3),
        Arm(
            "one-buffer-time",
            relative_to="15-writes-time",
            reported=1,
            tolerance=Below(because="that is what 15 writes take"),
            clock="real",
            samples=3,
        ),
    ),
    tolerance=Exactly(because="packets are counted"),
)
