"""TCP_CORK makes one packet of the 15 writes, and takes half the time of TCP_NODELAY: 850.80 ms instead of 1,649.77.

The third run: 352.61 bytes/ms.
"""

from lab import Absolute, Arm, Capture, Exactly, Experiment, Implied, Reported, SmallWrites, WriteStyle, metric, model

PACKET = Implied(1, "'coalescing full logical packets in its socket buffers'", part="one packet of the 15 writes")
HALF = Reported(0.5, "This halves the time needed to send the same number of logical packets", part="half the time")


def of(messages: int, way: WriteStyle) -> SmallWrites:
    """So many messages, over the loopback."""
    return SmallWrites(client="host", server="host", messages=messages, way=way)


EXPERIMENT = Experiment(
    topology="loopback",
    path=("host", "host"),
    workload=of(10_000, "cork"),
    metric=metric.message_latency(),
    arms=(
        Arm(
            "packets",
            PACKET,
            probes=(Capture(node="host", interface="lo"),),
            metric=metric.data_packets("host"),
            prediction=model.data_packets,
            tolerance=Exactly(because="packets are counted"),
            title="packets a message",
        ),
        Arm("nodelay-time", workload=of(10_000, "nodelay"), clock="real", samples=6, title="time with TCP_NODELAY"),
        Arm(
            "cork-time",
            HALF,
            relative_to="nodelay-time",
            workload=of(10_000, "cork"),
            clock="real",
            samples=6,
            title="time over TCP_NODELAY's",
        ),
    ),
    tolerance=Absolute(0.1, because="'halves' has one digit, and its own two times make 0.52"),
    unexplained="the time is the machine's: 17 system calls and a packet, in place of 15 and 15. Here the calls are "
    "those of a kernel in a user's process, and of programs in Python; what the article's C programs make of it is "
    "not known.",
    expect="partly",
    other_machines=("reproduced",),
)
