"""With TCP_NODELAY each of the 15 writes is a packet of its own, and the messages take 1,649.77 ms instead of 400 s.

The second run: 181.84 bytes/ms. "This improved performance by a huge factor, but caused a flurry of network packets."
"""

from lab import Arm, Below, Capture, Exactly, Experiment, Implied, SmallWrites, Untestable, WriteStyle, metric, model

FLURRY = Implied(15, "'a flurry of network packets to be sent for each logical packet'", part="a packet for each write")
FACTOR = Implied(1, "the time without it: 'improved performance by a huge factor'", part="faster by a huge factor")


def of(messages: int, way: WriteStyle) -> SmallWrites:
    """So many messages, over the loopback."""
    return SmallWrites(client="host", server="host", messages=messages, way=way)


EXPERIMENT = Experiment(
    topology="loopback",
    path=("host", "host"),
    workload=of(10_000, "nodelay"),
    metric=metric.message_latency(),
    arms=(
        Arm(
            "packets",
            FLURRY,
            probes=(Capture(node="host", interface="lo"),),
            metric=metric.data_packets("host"),
            prediction=model.data_packets,
            tolerance=Exactly(because="packets are counted"),
            title="packets a message",
        ),
        Arm("nagle-time", workload=of(50, "plain"), clock="real", samples=6, title="time with Nagle"),
        Arm(
            "nodelay-time",
            FACTOR,
            relative_to="nagle-time",
            workload=of(10_000, "nodelay"),
            clock="real",
            samples=6,
            title="time over Nagle's",
        ),
        Arm("seconds", metric=metric.exchange_time(), clock="real", title="time of 10,000 messages"),
    ),
    tolerance=Below(
        0.99, because="the article's factor is 242: 'huge' is two orders of magnitude, less than a hundredth"
    ),
    untestable=(
        Untestable(
            "1,649.77 ms",
            because="it is the time of 150,000 system calls and packets on a machine that the article does not name",
        ),
    ),
    expect="partly",
)
