"""How long do sixteen servers need that answer at the same moment through one port of a switch?

RFC 9743, section 7.11, data centers; 64 kB from each at 1 Gbit/s, and a buffer of 64 packets.
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
                Flow(f"judged-{number}", Bulk(client=client, size=Size.of("64 kB"), congestion=control))
                for number, client in enumerate(("sender", "rival") * 8, 1)
            ),
        )
    )


EXPERIMENT = Study(
    topology="judge-bottleneck",
    links={
        "access": {"rate": "10 Gbit/s"},
        "rival-access": {"rate": "10 Gbit/s"},
        "bottleneck": {"rate": "1 Gbit/s", "delay": "50 us", "forward": {"queue": {"kind": "pfifo", "limit": 64}}},
    },
    workload=flows("cubic"),
    probes=(QueueState(link="bottleneck", interval=Duration.of("100 ms")),),
    metrics={"time of all": last_answer, "drops": metric.queue_drops("bottleneck")},
    arms=tuple(Arm(control, workload=flows(control)) for control in ("reno", "cubic", "bbr")),
    samples=3,
    drawn=Drawn(),
)
