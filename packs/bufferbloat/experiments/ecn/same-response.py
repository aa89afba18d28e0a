"""A mark is answered as a loss is: with ECN, a transfer gets as much, and leaves as long a queue, as without.

RFC 3168, section 5: what ends do about a mark is essentially what they do about a single loss.
"""

from lab import (
    Arm,
    AtMost,
    Bulk,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    ModelMiss,
    QueueState,
    Steady,
    TcpInfo,
    Within,
    metric,
    model,
)

GOODPUT, DELAY = metric.total_goodput(), metric.mean_queue_delay("uplink")
AS_MUCH = Implied(1, "as much as without", part="gets as much")
AS_LONG = Implied(1, "as long as without", part="leaves as long a queue")
ECN = {"net.ipv4.tcp_ecn": 1}
LOOSE = Within(0.2, because="'essentially' is no figure, and a fifth of a queue of some milliseconds is one frame")
BOUND = AtMost(because="the target is a bound, and the law says no more than that")

EXPERIMENT = Experiment(
    topology="home-uplink",
    sysctls={"net.ipv4.tcp_ecn": 0},
    links={"uplink": {"forward": {"queue": {"kind": "codel", "ecn": True, "limit": 10000}}}},
    workload=Flows(
        tuple(
            Flow(f"bulk-{number}", Bulk(duration=Duration.of("60 s")), spread=Duration.of("1 s"))
            for number in range(1, 4)
        )
    ),
    probes=(
        TcpInfo(node="receiver", interval=Duration.of("100 ms")),
        QueueState(link="uplink", interval=Duration.of("50 ms")),
    ),
    metric=GOODPUT,
    prediction=model.total_goodput,
    arms=(
        Arm("goodput-by-loss"),
        Arm("goodput-by-marks", AS_MUCH, sysctls=ECN, relative_to="goodput-by-loss"),
        Arm("delay-by-loss", metric=DELAY, prediction=model.codel_target, accuracy=BOUND),
        Arm(
            "delay-by-marks",
            AS_LONG,
            sysctls=ECN,
            relative_to="delay-by-loss",
            metric=DELAY,
            prediction=model.codel_target,
            tolerance=LOOSE,
            accuracy=LOOSE,
        ),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.03, because="what is lost and sent again is some hundredths"),
    accuracy=Within(0.05, because="the law leaves out moments in which the queue is empty after a drop"),
    misses=(
        ModelMiss(
            "delay-by-loss",
            because="CoDel holds the shortest delay of an interval at its target (RFC 8289, 3.2), and the mean of the "
            "flows' saw-teeth is longer",
        ),
    ),
)
