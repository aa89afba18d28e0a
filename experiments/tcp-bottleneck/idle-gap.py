"""With a window smaller than the path, traffic stops for part of each round trip: for 74 % of 100 ms at 239 Mbit/s.

The IO graph in ticks of 10 ms, data and ACK, of the run with 60 MiB of send buffer. It names no share: 239 of the 927
Mbit/s that the link carries leave so much of it idle.
"""

from lab import (
    Above,
    Absolute,
    Arm,
    Bulk,
    Capture,
    Demonstrated,
    Duration,
    Experiment,
    Implied,
    Point,
    Sweep,
    metric,
    model,
)

STOPS = Implied(0, "no 'gap of No traffic of idle time'", part="traffic stops")
SHARE = Implied(0.742, "1 - 239 / 927: the run's goodput, and the link's", part="for 74 % of 100 ms")


def over(delay: str) -> Point:
    """The wire delays what the sender sends by that much."""
    return Point(delay, links={"path": {"forward": {"delay": delay}}})


EXPERIMENT = Experiment(
    topology="delay-100ms",
    sysctls={"net.ipv4.tcp_wmem": "4096 16384 62914560"},
    workload=Bulk(duration=Duration.of("4 s")),
    probes=(Capture(node="receiver"),),
    metric=metric.steady_idle_share(),
    prediction=model.idle_share,
    arms=(
        Arm(
            "any-gap",
            {"100 ms": STOPS},
            tolerance=Above(0.1, because="a gap shows in the graph if it lasts for a tick, a tenth of the round trip"),
        ),
        Arm("defaults", {"100 ms": SHARE}),
        Arm(
            "window-of-3-MiB",
            {"100 ms": SHARE},
            sysctls={"net.ipv4.tcp_rmem": "4096 131072 4973107"},
            explains=Demonstrated("with the article's window of 3 MiB its share is back: today's is a quarter larger"),
        ),
    ),
    sweep=Sweep("delay", (over("20 ms"), over("50 ms"), over("100 ms"), over("200 ms"))),
    tolerance=Absolute(0.05, because="the figure comes from two rates of which one includes slow start, 5 % of it"),
    expect="partly",
)
