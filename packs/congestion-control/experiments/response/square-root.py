"""Reno's throughput goes with the inverse of the square root of the loss rate.

Mathis, Semke, Mahdavi and Ott (1997), equation 3: MSS / RTT x C / sqrt(p), with C = sqrt(3/2) if each segment counts.
"""

from lab import Arm, Bulk, Duration, Experiment, Implied, Point, Steady, Sweep, TcpInfo, Within, metric, model


def lossy(share: str, p: float) -> Point:
    """A loss rate, and what the equation makes of it: 1448 B over 20 ms."""
    reported = Implied(f"{1448 * 8 / 0.02 * (1.5 / p) ** 0.5:.0f} bit/s", "the equation, with 1448 B over 20 ms")
    return Point(p, reported, links={"path": {"forward": {"loss": share}}})


EXPERIMENT = Experiment(
    topology="random-loss",
    workload=Bulk(congestion="reno", duration=Duration.of("120 s")),
    probes=(TcpInfo(node="sender", interval=Duration.of("200 ms")),),
    metric=metric.long_run_goodput(),
    prediction=model.goodput_response_reno,
    arms=(Arm("reno"),),
    sweep=Sweep("loss rate", (lossy("0.1 %", 0.001), lossy("0.3 %", 0.003), lossy("1 %", 0.01))),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.15, because="the paper's own constants for regular and for random losses differ by 7 %"),
    accuracy=Within(0.15, because="the equation is for regular losses; random ones leave a window 7 % larger"),
)
