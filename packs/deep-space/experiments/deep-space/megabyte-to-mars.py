"""A megabyte to Mars takes as many round trips as slow start has rounds, though every answer comes after the timers.

A comment in the kernel's tcp_timer.c: transfers to Mars "will work nicely", but for the clamp of 120 s on the RTO. Here
connections, answers and retries may take as long as they like; the clamp stays.
"""

from math import ceil, log2

from lab import (
    Arm,
    Bulk,
    Demonstrated,
    Duration,
    Exactly,
    Experiment,
    Implied,
    Netstat,
    Size,
    Value,
    Within,
    law,
    metric,
    model,
)

PATIENT = {
    f"net.ipv4.{name}": 100 for name in ("tcp_syn_retries", "tcp_synack_retries", "tcp_retries2", "tcp_orphan_retries")
}


@law(formula="⌈log2(segments / 10 + 1)⌉ − 1", source="RFC 6928; RFC 3522: Eifel, by timestamps")
def undone(scenario: model.Scenario) -> Value:
    """Each burst but the last has timeouts before its answer, which takes them back; it holds beyond 120 s of RTT."""
    assert scenario.writer.size is not None
    segments = scenario.writer.size / model.largest_payload(scenario).number
    return Value(ceil(log2(segments / 10 + 1)) - 1, "1")


# The handshake, and bursts of 10, 20, 40, 80, 160, 320 and the last 61 segments; the last arrives after half a trip.
ROUNDS = Implied("19800 s", "7 round trips of 44 minutes, and half of one")

EXPERIMENT = Experiment(
    topology="deep-space",
    sysctls=PATIENT,
    probes=(Netstat(node="sender"),),
    workload=Bulk(size=Size.of("1 MB"), duration=Duration.of("14400 min")),
    metric=metric.transfer_time(),
    prediction=model.transfer_time,
    arms=(
        Arm("a-megabyte", ROUNDS),
        Arm(
            "timeouts-undone",
            Implied(6, "each burst but the last, whose answer nobody waits for"),
            metric=metric.counted("TcpExt.TCPLossUndo"),
            prediction=undone,
            accuracy=Exactly(because="it is a count"),
            tolerance=Exactly(because="it is a count"),
            explains=Demonstrated("timeouts cut the window for each burst, and its answer's timestamp takes that back"),
        ),
    ),
    tolerance=Within(
        0.02, because="the megabyte itself takes a second of 10 Mbit/s, and a round trip too many is 13 %"
    ),
    accuracy=Within(0.02, because="both are of a sender whose timers do not expire, or that takes back what they did"),
)
