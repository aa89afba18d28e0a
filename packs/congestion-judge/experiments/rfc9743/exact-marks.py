"""How full is a link whose queue marks each packet that waited for more than 6 ms, if the receiver counts the marks?

RFC 9743, section 7.1; RFC 9768, accurate ECN, and RFC 9331, whose scalable senders reduce their window by the marked
share. A seventh of the bandwidth-delay product is 5.7 ms, which is enough for DCTCP (Alizadeh and others, 2010).
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")
# CoDel's own law never begins, with a target of a second.
STEP = {"kind": "codel", "limit": 10000, "target": "1 s", "interval": "2 s", "ecn": True, "ce_threshold": "6 ms"}


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("15 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={"bottleneck": {"forward": {"queue": STEP}}},
    sysctls={"net.ipv4.tcp_ecn": 3},
    workload=flows("cubic"),
    probes=(
        QueueState(link="bottleneck", interval=Duration.of("50 ms")),
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
    ),
    metrics={
        "utilisation": metric.utilisation("bottleneck", 4, 14),
        "queue delay": metric.mean_queue_delay("bottleneck"),
        "marked share": metric.queue_marked_share("bottleneck"),
    },
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(after=Duration.of("3 s"), because="slow start has ended"),
    drawn=Drawn(),
)
