"""How much of a link is used whose rate changes every two seconds?

RFC 9743, section 6.4, wireless paths, whose capacity varies over time.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")
RATES = (6, 3, 9, 12, 4, 8, 6, 12, 5)  # Mbit/s, from 2 s on
CHANGES = [{"at": f"{2 * number} s", "rate": f"{rate} Mbit/s"} for number, rate in enumerate(RATES, 1)]


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("20 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"changes": CHANGES}}},
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"goodput": metric.total_goodput(4, 18)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
