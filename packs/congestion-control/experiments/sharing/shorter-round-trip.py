"""Of two Reno flows at a tail-drop queue, the one with the shorter round trip gets more.

Lakshman and Madhow (1997): a queue that drops its tail is unfair to longer round trips, at most by their square, where
all flows lose together. Floyd and Jacobson (1992): how much it is depends on the phase of the flows' frames.
"""

from lab import (
    Above,
    Arm,
    AtMost,
    Bulk,
    Drawn,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Steady,
    TcpInfo,
    metric,
    model,
)

LENGTH, SPREAD = Duration.of("120 s"), Duration.of("1 s")


def in_one_phase(name: str, delay: str) -> Arm:
    """One network for all seeds, with this much of extra way to the far sender: it shows what a phase does."""
    return Arm(name, links={"rival-access": {"delay": delay}})


EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    links={"rival-access": {"delay": "10 ms"}},
    workload=Flows(
        (
            Flow("near", Bulk(client="sender", congestion="reno", duration=LENGTH), spread=SPREAD),
            Flow("far", Bulk(client="rival", congestion="reno", duration=LENGTH), spread=SPREAD),
        )
    ),
    probes=(TcpInfo(node="receiver", interval=Duration.of("100 ms")),),
    metric=metric.flow_share("near"),
    prediction=model.share_in_step,
    arms=(
        Arm("20-and-40-ms", Implied(0.5, "more than its half"), drawn=Drawn()),
        in_one_phase("one-phase", "10 ms"),
        in_one_phase("a-quarter-of-a-frame-nearer", "9970 us"),
        in_one_phase("a-frame-farther", "10130 us"),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Above(0.01, because="nobody would call less than a hundredth more"),
    accuracy=AtMost(because="the square is for losses in step, which is the most: here they are in step now and then"),
)
