"""A flow that comes late has its equal share after a few sawteeth: each halves the difference.

Chiu and Jain (1989): additive increase keeps the difference between two flows, multiplicative decrease halves it.
"""

from math import ceil, log2, sqrt

from lab import Arm, AtMost, Bulk, Drawn, Duration, Experiment, Flow, Flows, Implied, TcpInfo, Value, law, metric, model

INDEX, WINDOW = 0.95, 1.0  # of Jain's index, and seconds over which it is taken


@law(formula="⌈log2(1 / d)⌉ × W / 4 × RTT + window, d² = 1 / index − 1", source="Chiu and Jain (1989)")
def convergence(scenario: model.Scenario) -> Value:
    """From everything and nothing, the difference d of two shares is halved by each sawtooth until the index is met.

    All windows together grow from half of what path and queue hold, by two segments in a round trip. It is a bound for
    flows that lose together: one that starts by slow start has more than nothing at the first loss.
    """
    assert scenario.rate is not None
    held = scenario.rate.bps * model.base_rtt(scenario).number / (1538 * 8) + QUEUE
    rtt = model.base_rtt(scenario).number + 0.75 * QUEUE * 1538 * 8 / scenario.rate.bps
    sawteeth = ceil(log2(1 / sqrt(1 / INDEX - 1)))
    return Value(sawteeth * held / 4 * rtt + WINDOW, "s")


QUEUE = 66  # frames, 2 BDP of 20 Mbit/s over 20 ms

EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    links={"bottleneck": {"rate": "20 Mbit/s", "forward": {"limit": QUEUE + 17}}},
    workload=Flows(
        (
            Flow("early", Bulk(client="sender", congestion="reno", duration=Duration.of("40 s"))),
            Flow(
                "late",
                Bulk(client="rival", congestion="reno", duration=Duration.of("30 s")),
                start=Duration.of("10 s"),
                spread=Duration.of("1 s"),
            ),
        )
    ),
    probes=(TcpInfo(node="receiver", interval=Duration.of("50 ms")),),
    metric=metric.convergence_time(INDEX, WINDOW),
    prediction=convergence,
    arms=(
        Arm("reno", Implied("6 s", "three sawteeth of 1.2 s, and a second over which the index is taken, rounded up")),
    ),
    samples=10,
    drawn=Drawn(),
    tolerance=AtMost(because="'after a few sawteeth' is a bound"),
    accuracy=AtMost(because="the law is a bound"),
    other_seeds=("inconclusive",),
)
