"""DCTCP leaves the link as full as TCP with tail drop does, with 90 % less of the buffer in use.

The paper's abstract and section 4.1; CUBIC and a buffer of 455 frames, 700 kB, stand for TCP.
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
    Program,
    QueueState,
    Reported,
    Steady,
    TcpInfo,
    Value,
    Within,
    law,
    metric,
    model,
)

START, LENGTH, SPREAD = Duration.of("100 ms"), Duration.of("5200 ms"), Duration.of("10 ms")
BOTH_ENDS = Flow(
    "both-ends",
    Program(argv=("python3", "{files}/_both_ends.py"), files=("_both_ends.py",), client="receiver"),
)
BUFFER = 455  # frames
TAIL_DROP = {"port": {"forward": {"queue": {"kind": "pfifo", "limit": BUFFER}}}}
AS_FULL = Implied(1, "as much throughput as TCP", part="as full")
LESS = Reported(0.1, "using 90% less buffer space", part="90 % less of the buffer")
GOODPUT, DELAY = metric.total_goodput(), metric.mean_queue_delay("port")


def pair(congestion: str, *others: Flow) -> Flows:
    """Two flows from two senders."""
    return Flows(
        (
            *others,
            Flow("first", Bulk(client="sender", congestion=congestion, duration=LENGTH), start=START, spread=SPREAD),
            Flow("second", Bulk(client="rival", congestion=congestion, duration=LENGTH), start=START, spread=SPREAD),
        )
    )


@law(formula="buffer / rate", source="Little's law: what loss-based senders fill", long_run=True)
def full_buffer(scenario: model.Scenario) -> Value:
    """A greedy sender that only a loss holds back keeps the buffer nearly full; it is less between two losses."""
    assert scenario.rate is not None
    return Value(BUFFER * 1538 * 8 / scenario.rate.bps, "s")


EXPERIMENT = Experiment(
    topology="rack",
    workload=pair("dctcp", BOTH_ENDS),
    probes=(
        QueueState(link="port", interval=Duration.of("1 ms")),
        TcpInfo(node="receiver", interval=Duration.of("100 ms")),
    ),
    metric=GOODPUT,
    prediction=model.total_goodput,
    arms=(
        Arm("cubic-goodput", workload=pair("cubic"), links=TAIL_DROP),
        Arm("dctcp-goodput", AS_FULL, relative_to="cubic-goodput"),
        Arm(
            "cubic-delay",
            workload=pair("cubic"),
            links=TAIL_DROP,
            metric=DELAY,
            prediction=full_buffer,
            accuracy=Within(0.4, because="CUBIC gives way by 30 % at a loss, so that the buffer is less than full"),
        ),
        Arm(
            "dctcp-delay",
            LESS,
            relative_to="cubic-delay",
            metric=DELAY,
            prediction=model.dctcp_queue_delay,
            tolerance=AtMost(because="'less' is a bound"),
            accuracy=Within(0.5, because="what CUBIC leaves of the buffer's end is in the ratio"),
        ),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.01, because="'as full' is but for a hundredth"),
    accuracy=Within(0.01, because="the law leaves out what is sent twice"),
)
