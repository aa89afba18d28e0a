"""With a window smaller than the path, traffic stops for part of each round trip: for 74 % of 100 ms at 239 Mbit/s.

The IO graph in ticks of 10 ms, data and ACK, of the run with 60 MiB of send buffer. It names no share: 239 of the 927
Mbit/s that the link carries leave so much of it idle.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Absolute, Arm, Experiment, Point, Sweep
from lab.units import Duration
from lab.workload import Bulk


def over(delay: str, reported: float | None = None) -> Point:
    """The wire delays what the sender sends by that much."""
    return Point(delay, reported, links={"path": {"forward": {"delay": delay}}})


EXPERIMENT = Experiment(
    topology="delay-100ms",
    sysctls={"net.ipv4.tcp_wmem": "4096 16384 62914560"},
    workload=Bulk(duration=Duration.of("4 s")),
    probes=(Capture(node="receiver"),),
    metric=metric.steady_idle_share(),
    prediction=model.idle_share,
    arms=(
        Arm("window-of-3-MiB", sysctls={"net.ipv4.tcp_rmem": "4096 131072 4973107"}),
        Arm(
            "defaults",
            explains="the window of this kernel's defaults is a quarter larger, and the gap that much shorter",
        ),
    ),
    sweep=Sweep("delay", (over("20 ms"), over("50 ms"), over("100 ms", reported=0.742), over("200 ms"))),
    tolerance=Absolute(0.05, because="the figure comes from two rates of which one includes slow start, 5 % of it"),
)
