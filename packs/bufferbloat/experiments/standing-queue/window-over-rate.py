"""A window larger than the path stands in the queue: twice the window is twice the round trip, and not one bit/s more.

Gettys and Nichols (2011); RTT = window / rate is Little's law.
"""

from lab import Arm, Bulk, Duration, Experiment, Implied, TcpInfo, Within, metric, model


def window(kib: int) -> dict[str, str]:
    """A receive buffer of so many KiB, of which the window is a part."""
    return {"net.ipv4.tcp_rmem": f"4096 131072 {kib * 1024}"}


TWICE = Implied(2, "twice the window, twice the round trip", part="twice the round trip")
FOUR = Implied(4, "four times the window", part="twice the round trip")
SAME = Implied(1, "the link was full before", part="not one bit/s more")
GOODPUT = metric.steady_goodput("sender")
LIMITED = "a receive window that has no whole number of bursts moves by a burst"

EXPERIMENT = Experiment(
    topology="home-uplink",
    workload=Bulk(duration=Duration.of("60 s")),
    probes=(TcpInfo(node="sender", interval=Duration.of("50 ms")),),
    metric=metric.steady_rtt("sender"),
    prediction=model.rtt_of_full_window,
    arms=(
        Arm("256-KiB", sysctls=window(256)),
        Arm("512-KiB", TWICE, sysctls=window(512), relative_to="256-KiB"),
        Arm("1-MiB", FOUR, sysctls=window(1024), relative_to="256-KiB"),
        Arm("goodput-256-KiB", sysctls=window(256), metric=GOODPUT, prediction=model.goodput_line_rate),
        Arm(
            "goodput-1-MiB",
            SAME,
            sysctls=window(1024),
            metric=GOODPUT,
            prediction=model.goodput_line_rate,
            relative_to="goodput-256-KiB",
            tolerance=Within(0.005, because="'not more' within what a burst at either end makes of half a minute"),
        ),
    ),
    tolerance=Within(0.1, because="'twice' has one digit"),
    accuracy=Within(0.03, because=LIMITED),
)
