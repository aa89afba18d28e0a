"""BBR has no more than two bandwidth-delay products in flight, and as much when the link has just become slower.

"Matching the Packet Flow to the Delivery Path" has cwnd_gain, "Delayed and Stretched ACKs" its two; 163 frames are one.
"""

from lab import Arm, AtMost, Bulk, Duration, Experiment, Implied, TcpInfo, Within, metric, model

HALVED = {"bottleneck": {"forward": {"changes": [{"at": "4 s", "rate": "25 Mbit/s"}]}}}

EXPERIMENT = Experiment(
    topology="slower-later",
    workload=Bulk(congestion="bbr", duration=Duration.of("8 s")),
    probes=(TcpInfo(node="sender", interval=Duration.of("1 ms")),),
    metric=metric.most_in_flight("sender", 2, 8),
    prediction=model.bbr_inflight_bound,
    arms=(
        Arm(
            "same-rate",
            Implied(326, "2 × 163 frames", part="no more than two"),
            tolerance=AtMost(because="it is a bound"),
            accuracy=AtMost(because="it is a bound, and what holds most of the time is one product"),
        ),
        Arm(
            "half-the-rate",
            Implied(326, "2 × 163 frames", part="as much after a change"),
            links=HALVED,
            metric=metric.most_in_flight("sender", 3, 8),
        ),
    ),
    samples=10,
    tolerance=Within(0.1, because="'two' has one digit, and the kernel allows for bursts of its own beside it"),
    accuracy=Within(0.02, because="the rate and the round trip that BBR found are those of single acknowledgements"),
)
