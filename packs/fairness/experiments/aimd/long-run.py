"""Over five minutes, any number of Reno flows shares a bottleneck about evenly.

Chiu and Jain (1989): additive increase with multiplicative decrease converges for n users. Equals have an index of 1.
The claim any-number looks at the first 40 s.
"""

from lab import (
    Arm,
    Bulk,
    Demonstrated,
    Drawn,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    ModelMiss,
    Point,
    Steady,
    Sweep,
    TcpInfo,
    Within,
    metric,
    model,
)


def several(count: int) -> Point:
    """So many flows, half of them from each of two senders, started within two seconds as each seed has it."""
    flows = (
        Flow(
            f"flow-{number}",
            Bulk(client=("sender", "rival")[number % 2], congestion="reno", duration=Duration.of("300 s")),
            spread=Duration.of("2 s"),
        )
        for number in range(count)
    )
    return Point(count, workload=Flows(tuple(flows)))


# Floyd and Jacobson (1992) add random times of up to a frame's time at the bottleneck to each packet: 246 us.
NOISE = {"forward": {"delay": "125 us", "jitter": "123 us"}}

EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    links={"bottleneck": {"rate": "50 Mbit/s"}},
    workload=Bulk(),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metric=metric.jain_index(),
    prediction=model.fairness_index,
    arms=(
        Arm("reno", Implied(1, "equal shares")),
        Arm(
            "random-times",
            Implied(1, "equal shares"),
            links={"access": NOISE, "rival-access": NOISE},
            explains=Demonstrated(
                "phase effects: with equal frames and no noise, the same flow loses again and again at a full queue; "
                "with random times of up to a frame's time, shares are even"
            ),
        ),
    ),
    sweep=Sweep("flows", (several(2), several(4), several(8), several(16))),
    samples=10,
    steady=Steady(),
    drawn=Drawn(),
    tolerance=Within(
        0.05, because="'about' leaves a twentieth: one of two with a quarter more than the other has 0.99"
    ),
    accuracy=Within(0.05, because="the law is of an endless run, and this one has about seventy sawteeth"),
    unexplained="with random times, Jain's index is 0.93 to 0.97 instead of 0.84 to 0.89, so phase effects explain "
    "most of the distance to 1; whether the rest ends with longer runs is open",
    expect="not reproduced",
    other_seeds=("inconclusive",),
    misses=(ModelMiss("reno", because="the law has flows that lose in step, and phase effects choose the loser"),),
)
