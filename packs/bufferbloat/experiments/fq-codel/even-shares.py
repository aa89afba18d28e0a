"""Each transfer gets its equal share, whatever its congestion control and however long its round trip.

RFC 8290, section 4.1: deficit round robin over the flows.
"""

from lab import Arm, Bulk, Duration, Experiment, Flow, Flows, Implied, Steady, TcpInfo, Within, metric, model

LENGTH, SPREAD = Duration.of("40 s"), Duration.of("1 s")
HALF = Implied(0.5, "one of two")


def pair(first: str, second: str) -> Flows:
    """Two flows from two senders, started within a second as each seed has it."""
    return Flows(
        (
            Flow("first", Bulk(client="sender", congestion=first, duration=LENGTH), spread=SPREAD),
            Flow("second", Bulk(client="rival", congestion=second, duration=LENGTH), spread=SPREAD),
        )
    )


EXPERIMENT = Experiment(
    topology="home-uplink",
    links={"uplink": {"forward": {"queue": "fq_codel"}}},
    workload=pair("cubic", "bbr"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("100 ms")),),
    metric=metric.flow_share("second"),
    prediction=model.share_of_fair_queue("second"),
    arms=(
        Arm("cubic-bbr", HALF),
        Arm("reno-cubic", HALF, workload=pair("reno", "cubic")),
        Arm("twice-the-round-trip", HALF, workload=pair("reno", "reno"), links={"rival-access": {"delay": "20 ms"}}),
        Arm("cubic-bbr-by-cake", HALF, links={"uplink": {"forward": {"queue": "cake"}}}),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Within(
        0.05, because="a queue that runs empty after a drop loses its turn: a twentieth is what that may be"
    ),
    accuracy=Within(0.05, because="the law has one sawtooth for each flow, without the bursts in it"),
    unexplained="a flow whose queue runs empty after a cut leaves its turns to the other one; BBR, which does not cut, "
    "and the shorter round trip gain from that; no arm shows it by itself",
    expect="not reproduced",
)
