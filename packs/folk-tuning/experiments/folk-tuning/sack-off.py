"""Turning SACK off saves CPU time.

Guides turn tcp_sack off for that. They do not say what it costs: the arms show it, over a path that loses at random.
"""

from lab import Arm, Bulk, Duration, Experiment, Implied, Refutes, Steady, TcpInfo, Untestable, Within, metric, model

EXPERIMENT = Experiment(
    topology="lossy",
    links={"path": {"forward": {"loss": "0.3 %"}}},
    workload=Bulk(congestion="reno", duration=Duration.of("120 s")),
    probes=(TcpInfo(node="sender", interval=Duration.of("200 ms")),),
    metric=metric.long_run_goodput(),
    prediction=model.goodput_response_reno,
    arms=(
        Arm("defaults"),
        Arm(
            "tcp_sack-0",
            Implied(1, "as much as with it"),
            sysctls={"net.ipv4.tcp_sack": 0},
            relative_to="defaults",
            explains=Refutes("that it is free: where frames are lost at random, the transfer gets less"),
        ),
    ),
    untestable=(
        Untestable(
            "saves CPU time",
            because="in virtual time a host's CPU costs nothing, and guides name neither machine nor load",
        ),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.01, because="nobody tunes a system for less than a hundredth"),
    accuracy=Within(0.15, because="the law is for windows with at most one loss: two cost more without SACK"),
    expect="not testable as stated",
)
