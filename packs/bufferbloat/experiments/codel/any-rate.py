"""With the same parameters at 10 to 100 Mbit/s, CoDel keeps the median wait of four transfers within its target, 5 ms.

RFC 8289, sections 1 and 3.2: parameters that suit links of very different rates, and a target that is 5 % of 100 ms. By
section 5 it drops nothing while no more than a frame is queued: at 5 Mbit/s that, and the frame before it, are 4.9 ms.
"""

from lab import (
    Arm,
    AtMost,
    Bulk,
    Capture,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Point,
    Steady,
    Sweep,
    metric,
    model,
)

TARGET = Implied("5 ms", "the target")
BOUND = "the target is a bound, and the law says no more than that"


def rate(text: str) -> Point:
    """An uplink of this rate."""
    return Point(text, links={"uplink": {"rate": text}})


EXPERIMENT = Experiment(
    topology="home-uplink",
    links={"uplink": {"delay": "50 ms", "forward": {"queue": {"kind": "codel", "limit": 10000}}}},
    workload=Flows(
        tuple(
            Flow(f"bulk-{number}", Bulk(duration=Duration.of("20 s")), spread=Duration.of("1 s"))
            for number in range(1, 5)
        )
    ),
    probes=(
        Capture(node="router", interface="eth2", filter="tcp"),
        Capture(node="receiver", filter="tcp"),
    ),
    metric=metric.queue_delay("uplink", 0.5),
    prediction=model.codel_target,
    arms=(Arm("codel", dict.fromkeys(("10 Mbit/s", "30 Mbit/s", "100 Mbit/s"), TARGET)),),
    sweep=Sweep("rate", (rate("5 Mbit/s"), rate("10 Mbit/s"), rate("30 Mbit/s"), rate("100 Mbit/s"))),
    samples=10,
    steady=Steady(),
    tolerance=AtMost(because="'within' is a bound"),
    accuracy=AtMost(because=BOUND),
)
