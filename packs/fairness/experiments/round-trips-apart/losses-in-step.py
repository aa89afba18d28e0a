"""With losses in step, twice the round trip costs Reno three quarters of its goodput, and CUBIC half.

Lakshman and Madhow (1997): goodput goes with RTT to the power of -2. RFC 9438, section 5: CUBIC's window grows by time,
so that only the division by RTT is left. Both are for flows that lose at the same moments, and recover without timeout.
"""

from lab import (
    Arm,
    Bulk,
    Drawn,
    Duration,
    Experiment,
    Flow,
    Flows,
    Netstat,
    Steady,
    TcpInfo,
    Untestable,
    Within,
    metric,
)

LENGTH = Duration.of("180 s")
WHY = (
    "nothing here makes both lose at one moment and recover without timeout. An outage must outlast both round trips, "
    "and then both wait for timeouts; a shorter loss misses one whose burst is elsewhere, or cuts the near one twice"
)


def pair(congestion: str) -> Flows:
    """Two flows, 100 ms and 200 ms away."""
    return Flows(
        (
            Flow("near", Bulk(client="near", congestion=congestion, duration=LENGTH), spread=Duration.of("1 s")),
            Flow("far", Bulk(client="far", congestion=congestion, duration=LENGTH), spread=Duration.of("1 s")),
        )
    )


EXPERIMENT = Experiment(
    topology="outages",
    workload=pair("reno"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")), Netstat(node="near"), Netstat(node="far")),
    metric=metric.flow_share("near"),
    path=("near", "receiver"),
    arms=(
        Arm("reno"),
        Arm("cubic", workload=pair("cubic")),
        Arm("timeouts-of-the-near-one", metric=metric.counted("TcpExt.TCPTimeouts", "near")),
        Arm("timeouts-of-the-far-one", metric=metric.counted("TcpExt.TCPTimeouts", "far")),
    ),
    untestable=(Untestable("three quarters and half", because=WHY),),
    samples=10,
    steady=Steady(),
    drawn=Drawn(),
    tolerance=Within(0.1, because="a share of goodput is shown, and none is judged"),
    expect="not testable as stated",
)
