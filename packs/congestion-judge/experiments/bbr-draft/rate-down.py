"""How long is the queue after a link's rate has dropped to a tenth?

A.15, decrease bandwidth 10x; RFC 9743, section 7.9: from 20 to 2 Mbit/s.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Size, Steady, Study, TcpInfo, metric

BLOCK = Size.of("64 KiB")


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows((Flow("judged", Bulk(congestion=control, duration=Duration.of("16 s"), block=BLOCK)),))


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={
        "bottleneck": {
            "rate": "20 Mbit/s",
            "forward": {"queue": {"kind": "pfifo", "limit": 66}, "changes": [{"at": "6 s", "rate": "2 Mbit/s"}]},
        }
    },
    workload=flows("cubic"),
    probes=(
        QueueState(link="bottleneck", interval=Duration.of("50 ms")),
        TcpInfo(node="receiver", interval=Duration.of("200 ms")),
    ),
    metrics={"queue delay": metric.mean_queue_delay("bottleneck")},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    steady=Steady(
        after=Duration.of("8 s"),
        because="two seconds, or five round trips of a full queue, have passed since the change",
    ),
    drawn=Drawn(),
)
