"""At 100 ms netem's default limit of 1,000 packets is too small for a gigabit link; 10,000 are enough.

The remark on the third run's `limit 10000`: "it's needed if the delay value or packet rate are high".
"""

from lab import Arm, Bulk, Demonstrated, Duration, Exactly, Experiment, Implied, Point, Sweep, metric, model

SMALL = Implied(
    1, "'needed if the delay value or packet rate are high': without it frames are dropped", "1,000: too few"
)
ENOUGH = Implied(0, "'The packet trace (sniff) did not showed any drops'", "10,000: enough")


def at(limit: int, claimed: Implied | None = None) -> Point:
    """The wire towards the receiver holds `limit` frames, queued and in flight together."""
    return Point(limit, claimed, links={"path": {"forward": {"limit": limit}}})


# A receive buffer whose window, 8,300 frames, is just over what the path holds: rate x delay / frame = 8,127.
FULL = "4096 131072 19020000"

EXPERIMENT = Experiment(
    topology="delay-100ms",
    workload=Bulk(duration=Duration.of("5 s")),
    metric=metric.any_drops(),
    prediction=model.any_drops,
    arms=(
        Arm("defaults"),
        Arm(
            "full-path",
            sysctls={"net.ipv4.tcp_rmem": FULL, "net.ipv4.tcp_wmem": "4096 16384 67108864"},
            explains=Demonstrated(
                "with buffers for a full path the limit must hold rate x delay / frame, 8,127 frames"
            ),
        ),
    ),
    sweep=Sweep(
        "limit, frames",
        (at(1000, SMALL), at(2000), at(3000), at(4000), at(8000), at(9500), at(10000, ENOUGH), at(16000)),
    ),
    tolerance=Exactly(because="a frame is dropped, or none is"),
)
