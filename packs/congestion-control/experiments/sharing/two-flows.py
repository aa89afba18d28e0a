"""Two flows of one congestion control share a bottleneck evenly; BBR takes most of it from CUBIC.

Even shares: what additive increase and multiplicative decrease converge to (Chiu and Jain, 1989). BBR's bound on what
is in flight is two bandwidth-delay products (Cardwell et al., 2017), all that this path and its queue hold.
"""

from lab import (
    Above,
    Arm,
    Bulk,
    Drawn,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Steady,
    TcpInfo,
    Within,
    metric,
    model,
)

MINUTE, SPREAD = Duration.of("60 s"), Duration.of("1 s")
EVEN = Implied(0.5, "equal shares: what additive increase, multiplicative decrease converges to", part="even shares")
BBR = Implied(0.5, "more than its half: CUBIC gives way when the queue is full, BBR does not", part="BBR beside CUBIC")


def pair(first: str, second: str) -> Flows:
    """Two flows from two senders, started within a second as each seed has it."""
    return Flows(
        (
            Flow("first", Bulk(client="sender", congestion=first, duration=MINUTE), spread=SPREAD),
            Flow("second", Bulk(client="rival", congestion=second, duration=MINUTE), spread=SPREAD),
        )
    )


EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    workload=pair("cubic", "cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("100 ms")),),
    metric=metric.flow_share("second"),
    prediction=model.fair_share,
    arms=(
        Arm("reno-reno", EVEN, workload=pair("reno", "reno")),
        Arm("cubic-cubic", EVEN),
        Arm(
            "cubic-bbr",
            BBR,
            workload=pair("cubic", "bbr"),
            tolerance=Above(0.1, because="a flow that gets a tenth more than its half has taken it from the other"),
        ),
        Arm("bbr-bbr", EVEN, workload=pair("bbr", "bbr")),
    ),
    samples=10,
    steady=Steady(),
    drawn=Drawn(),
    tolerance=Within(0.2, because="40 s hold a few dozen sawteeth: a fifth is what their number leaves to chance"),
    accuracy=Within(0.2, because="the law is of the long run, and 40 s are not"),
    expect="inconclusive",
)
