"""TCP holds small writes back until they fill a packet, and a message that is too small for one waits 40 ms.

The explanation of the first run: TCP "has to wait a bit to check if the application has more data that can optimally
fit on a network packet". Its 400,129.78 ms are 40.01 ms for each of 10,000 messages of 30 bytes. They went over the
loopback, whose packets are larger than any of these messages; here they go over a gigabit, to see the other side too.
"""

from lab import (
    Arm,
    Below,
    Claimed,
    Demonstrated,
    Duration,
    Experiment,
    Figure,
    Implied,
    Point,
    Size,
    SmallWrites,
    Sweep,
    Variant,
    Within,
    metric,
    model,
)

STALL = Duration(40_012_978)
HOW = "400,129.78 ms for 10,000 messages"
WAITS = Implied(STALL, HOW, part="too small for a packet, a message waits 40 ms")
FILLS = Implied(STALL, HOW, part="one that fills a packet does not wait")
# 15 writes; with all but the first held back, up to 1,551 B do not fill a segment of 1,448.
SMALL: dict[Figure, Claimed] = {Size(15 * size): WAITS for size in (2, 20, 80, 100)}
LARGE: dict[Figure, Claimed] = {Size(15 * size): FILLS for size in (120, 150, 200, 400)}


def of(size: int) -> Point:
    """Messages of 15 writes of `size` bytes each."""
    return Point(Size(15 * size), workload=SmallWrites(messages=20, size=Size(size)))


EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"delay": "240 us"}},  # two round trips within a tick of 1 ms: the stall is the timer's alone
    workload=SmallWrites(),
    metric=metric.message_latency(),
    prediction=model.message_latency,
    arms=(
        Arm("near", SMALL, title="240 µs each way"),
        Arm(
            "near-full",
            LARGE,
            tolerance=Below("20 ms", because="half a stall is none: two round trips here take 1 ms"),
            title="240 µs each way, bound of no wait",
        ),
        Arm(
            "timers-on-their-tick",
            SMALL,
            kernel=Variant(patches=("timers-on-their-tick.patch",)),
            explains=Demonstrated(
                "before Linux 4.8 a timer fired on its very tick, and not one later: see nagle-stall"
            ),
            title="pre-4.8 timer wheel",
        ),
        Arm(
            "far",
            links={"path": {"delay": "10 ms"}},
            explains=Demonstrated(
                "with 10 ms each way the stall is the same, and a message takes two round trips instead of one"
            ),
            title="10 ms each way",
        ),
    ),
    sweep=Sweep("message", (of(2), of(20), of(80), of(100), of(120), of(150), of(200), of(400))),
    tolerance=Within(0.005, because="the time is that of a timer: it does not depend on the machine (see nagle-stall)"),
    expect="partly",
)
