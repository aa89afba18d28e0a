"""The share of segments that are marked is the square root of two over the window, where that is of many segments.

Equation 6, for a smooth window: with C × RTT + K segments for two flows, each has half of them. Here a segment is sent
and acknowledged at a time, and W is 53: over 800 us a gigabit holds 65 frames, and K is 40.
"""

from lab import (
    Arm,
    Bulk,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Program,
    QueueState,
    Refutes,
    Steady,
    Within,
    metric,
    model,
)

START, LENGTH, SPREAD = Duration.of("100 ms"), Duration.of("2 s"), Duration.of("10 ms")
NO_LAW = {"limit": 10000, "target": "1 s", "interval": "2 s", "ecn": True}  # of CoDel's own
SHARE = Implied(0.194, "√(2 / 53): 800 us, a frame's own 14 us and 492 us of queue at 12.3 us a frame, halved")


def pair(script: str) -> Flows:
    """Two flows from two senders, once the receiver has run this script."""
    return Flows(
        (
            Flow("both-ends", Program(argv=("python3", f"{{files}}/{script}"), files=(script,), client="receiver")),
            Flow("first", Bulk(client="sender", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
            Flow("second", Bulk(client="rival", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
        )
    )


EXPERIMENT = Experiment(
    topology="rack",
    links={"port": {"delay": "400 us", "forward": {"queue": {"kind": "codel", "ce_threshold": "492 us", **NO_LAW}}}},
    workload=pair("_no_delayed_acks.py"),
    hosts={"sender": {"gso_max_segs": 1}, "rival": {"gso_max_segs": 1}},
    probes=(QueueState(link="port", interval=Duration.of("1 ms")),),
    metric=metric.queue_marked_share("port"),
    arms=(
        Arm("segment-by-segment", SHARE, prediction=model.dctcp_marked_share),
        Arm(
            "with-bursts",
            SHARE,
            workload=pair("_both_ends.py"),
            hosts={"sender": {"gso_max_segs": None}, "rival": {"gso_max_segs": None}},
            explains=Refutes(
                "that bursts do not matter: those of offload and of delayed acknowledgements cross the threshold in "
                "each round trip, for some segments, and not in one of several, for all"
            ),
        ),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.3, because="the paper's equation drops a term of a twelfth, and its flows are in step"),
    accuracy=Within(0.3, because="the paper's equation drops a term of a twelfth, and its flows are in step"),
)
