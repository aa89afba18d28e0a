"""Fifty flows fill a bottleneck, and share it about evenly.

Chiu and Jain (1989) say so of any number; Jain's index of fifty, of which one has all, would be 0.02.
"""

from lab import (
    Arm,
    AtLeast,
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

FULL = Implied("94.1 Mbit/s", "100 Mbit/s × 1448 / 1538", part="they fill it")
EVEN = Implied(0.8, "of 1, where all get the same: half of them twice what the others get is 0.9", part="about evenly")


def several(congestion: str) -> Flows:
    """Half of them from each of two senders, started within two seconds as each seed has it."""
    hosts = ("sender", "rival") * 25
    return Flows(
        tuple(
            Flow(
                f"flow-{number}",
                Bulk(client=host, congestion=congestion, duration=Duration.of("30 s")),
                spread=Duration.of("2 s"),
            )
            for number, host in enumerate(hosts, 1)
        )
    )


EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    workload=several("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metric=metric.jain_index(),
    prediction=model.fairness_index,
    arms=(
        Arm("cubic", EVEN),
        Arm("reno", EVEN, workload=several("reno")),
        Arm(
            "all-together",
            FULL,
            metric=metric.total_goodput(),
            prediction=model.total_goodput,
            tolerance=Within(0.01, because="a percent is what retransmissions take of a full link at this window"),
            accuracy=Within(0.01, because="the law leaves out what is sent twice"),
        ),
    ),
    samples=10,
    steady=Steady(),
    drawn=Drawn(),
    tolerance=AtLeast(because="'about' has no figure: this is well away from one flow or half of them having all"),
    accuracy=Within(0.2, because="the law is of the long run, and 25 s are not"),
    expect="inconclusive",
)
