"""Turning SACK off makes a transfer over a lossy path faster.

Guides turn tcp_sack off to save its cost in CPU time. The law of square roots knows nothing of SACK.
"""

from lab import metric, model
from lab.spec.experiment import Above, Arm, Experiment, Implied, Within
from lab.units import Duration
from lab.workload import Bulk

EXPERIMENT = Experiment(
    topology="lossy",
    links={"path": {"forward": {"loss": "0.3 %"}}},
    workload=Bulk(congestion="reno", duration=Duration.of("60 s")),
    metric=metric.bulk_goodput(),
    prediction=model.goodput_response_reno,
    arms=(
        Arm("defaults"),
        Arm(
            "tcp_sack-0",
            Implied(1, "faster than with it"),
            sysctls={"net.ipv4.tcp_sack": 0},
            relative_to="defaults",
        ),
    ),
    samples=10,
    tolerance=Above(0.01, because="nobody tunes a system for less than a hundredth"),
    accuracy=Within(0.15, because="the law is for windows with at most one loss: two cost more without SACK"),
    unexplained="the law says that it does not matter while a window has one loss",
    expect="not reproduced",
)
