"""The same window carries a tenth over ten times the round trip, however many seconds that is.

RFC 7323, section 1.1. Each transfer takes about sixty round trips: to a peer a light second away, ten, and 25. The
window is the receiver's, whose buffer does not grow; the sender's buffer is twice as large.
"""

from lab import Arm, Bulk, Duration, Experiment, Implied, Size, Steady, TcpInfo, Within, metric, model


def away(name: str, milliseconds: int, share: float | None = None) -> Arm:
    """A peer so far away, and its share of what the nearest gets."""
    return Arm(
        name,
        Implied(share, "as the inverse of the round trip") if share else None,
        links={"path": {"delay": f"{milliseconds} ms", "rate": "100 Mbit/s"}},
        workload=Bulk(size=Size.of("20 MB"), duration=Duration(240 * milliseconds * 10**6)),
        probes=(TcpInfo(node="sender", interval=Duration.of("1 s")),),
        relative_to="1-s" if share else "",
    )


EXPERIMENT = Experiment(
    topology="deep-space",
    sysctls={"net.ipv4.tcp_rmem": "4096 524288 524288", "net.ipv4.tcp_wmem": "4096 1048576 1048576"},
    workload=Bulk(),
    metric=metric.long_run_goodput("sender"),
    prediction=model.goodput_window_over_rtt,
    arms=(away("1-s", 1000), away("10-s", 10_000, 1 / 10), away("25-s", 25_000, 1 / 25)),
    steady=Steady(),
    tolerance=Within(0.05, because="a tenth has one digit"),
    accuracy=Within(0.05, because="samples come once in half a round trip: one of the sixty may be on the other side"),
)
