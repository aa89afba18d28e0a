"""Does one flow keep a link of 10 Gbit/s full, with a round trip of a millisecond?

RFC 9743, sections 6.3, wired paths, and 7.11, data centers; the buffer holds one bandwidth-delay product.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("2500 ms"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={
        "access": {"rate": "40 Gbit/s"},
        "bottleneck": {"rate": "10 Gbit/s", "delay": "500 us", "forward": {"queue": {"kind": "pfifo", "limit": 813}}},
    },
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("50 ms")),),
    metrics={"utilisation": metric.utilisation("bottleneck", 1, 2.4)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
