"""A response of ten segments takes two round trips, for 90 % of a thousand users; a bulk transfer's queue comes on top.

RFC 6928: ten segments are sent at once. What a tail-drop queue holds, each round trip has to wait for.
"""

from lab import (
    Above,
    Arm,
    Arrivals,
    Bulk,
    Drawn,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Size,
    Within,
    metric,
    model,
)

USERS = Arrivals(count=1000, interval=Duration.of("20 ms"), size=Size(14_480))

EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    workload=USERS,
    metric=metric.completion_time(0.9),
    prediction=model.completion_time_by_rounds,
    arms=(
        Arm("alone", Implied("41 ms", "two round trips of 20 ms, and 1.2 ms for the segments", part="two round trips")),
        Arm(
            "beside-a-transfer",
            Implied("41 ms", "more than alone", part="the queue comes on top"),
            workload=Flows(
                (
                    Flow("users", USERS, start=Duration.of("5 s")),
                    Flow("bulk", Bulk(client="rival", duration=Duration.of("30 s"))),
                )
            ),
            metric=metric.of_flow("users", metric.completion_time(0.9)),
            drawn=Drawn(),
            tolerance=Above("5 ms", because="a quarter of the queue's 20 ms: nobody would call less a queue"),
        ),
    ),
    samples=10,
    tolerance=Within(0.1, because="a tenth is what two that arrive together wait for each other"),
    accuracy=Within(0.1, because="the law is for a transfer that meets no other"),
)
