"""With TCP_NODELAY each of the 15 writes is a packet of its own, and the messages take 1,649.77 ms instead of 400 s.

The second run: 181.84 bytes/ms.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Absolute, Arm, Exactly, Experiment, Within
from lab.units import Duration
from lab.workload import SmallWrites, WriteStyle

NAGLE, NODELAY = 400_129_781_250, 1_649_771_240  # ns, for 10,000 messages


def of(messages: int, way: WriteStyle) -> SmallWrites:
    """So many messages, over the loopback."""
    return SmallWrites(client="host", server="host", messages=messages, way=way)


EXPERIMENT = Experiment(
    topology="loopback",
    path=("host", "host"),
    workload=of(10_000, "nodelay"),
    metric=metric.message_latency(0.05),  # the fastest, which other load on the machine leaves alone
    arms=(
        Arm(
            "packets",
            reported=15,
            probes=(Capture(node="host", interface="lo"),),
            metric=metric.data_packets("host"),
            prediction=model.data_packets,
            tolerance=Exactly(because="packets are counted"),
        ),
        Arm("nagle-time", workload=of(50, "plain"), clock="real", samples=3),
        Arm(
            "nodelay-time",
            relative_to="nagle-time",
            reported=NODELAY / NAGLE,
            workload=of(1000, "nodelay"),
            clock="real",
            samples=3,
        ),
        Arm(
            "seconds",
            reported=Duration(NODELAY),
            metric=metric.exchange_time(),
            tolerance=Within(0.1, because="nothing else took time in the article's run"),
            clock="real",
            explains="the time is that of 15 system calls and packets, and so that of a machine: here a kernel in a "
            "user's process, on one processor, with programs in Python",
        ),
    ),
    tolerance=Absolute(0.05, because="the claim is a huge factor: a stall of 40 ms dwarfs 15 packets on any machine"),
)
