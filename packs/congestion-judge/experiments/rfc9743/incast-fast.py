"""How long do sixteen servers need for 1 MB each through one port of 10 Gbit/s?

RFC 9743, section 7.11, data centers; all start at the same moment, and the port has a buffer of 200 packets.
"""

from lab import Arm, Bulk, Drawn, Duration, Flow, Flows, QueueState, Record, Size, Study, Value, metric


def last_answer(record: Record) -> Value:
    """Measure the longest time of a transfer; all of them start together."""
    times = [metric.of_flow(f"judged-{number}", metric.transfer_time())(record) for number in range(1, 17)]
    return max(times, key=lambda each: each.number)


def flows(control: str) -> Flows:
    """Return the case's flows. Those whose name starts with "judged" have this congestion control."""
    return Flows(
        (
            *(
                Flow(f"judged-{number}", Bulk(client=client, size=Size.of("1 MB"), congestion=control))
                for number, client in enumerate(("sender", "rival") * 8, 1)
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={
        "access": {"rate": "40 Gbit/s"},
        "rival-access": {"rate": "40 Gbit/s"},
        "bottleneck": {"rate": "10 Gbit/s", "delay": "50 us", "forward": {"queue": {"kind": "pfifo", "limit": 200}}},
    },
    workload=flows("cubic"),
    probes=(QueueState(link="bottleneck", interval=Duration.of("100 ms")),),
    metrics={"time of all": last_answer, "drops": metric.queue_drops("bottleneck")},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
