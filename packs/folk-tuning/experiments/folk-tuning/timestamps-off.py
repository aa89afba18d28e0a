"""Without timestamps, a full link carries 0.8 % more.

Guides turn tcp_timestamps off to save their twelve bytes in each segment, 1460 B of 1538 in place of 1448.
"""

from lab import Arm, Bulk, Duration, Experiment, Implied, Within, metric, model

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=Bulk(duration=Duration.of("3 s")),
    metric=metric.bulk_goodput(),
    prediction=model.goodput_bulk,
    arms=(
        Arm("defaults"),
        Arm(
            "tcp_timestamps-0",
            Implied(1460 / 1448, "twelve bytes of headers fewer"),
            sysctls={"net.ipv4.tcp_timestamps": 0},
            relative_to="defaults",
        ),
    ),
    tolerance=Within(0.001, because="an eighth of the gain"),
)
