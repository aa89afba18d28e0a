"""How much of a link is used in the six seconds after its rate has grown tenfold?

A.14, increase bandwidth 10x and ensure full bandwidth is reached; RFC 9743, section 7.9: from 2 to 20 Mbit/s.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, Size, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("13 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={
        "bottleneck": {
            "rate": "2 Mbit/s",
            "forward": {"queue": {"kind": "pfifo", "limit": 66}, "changes": [{"at": "6 s", "rate": "20 Mbit/s"}]},
        }
    },
    workload=flows("cubic"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metrics={"goodput": metric.total_goodput(6, 12)},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
