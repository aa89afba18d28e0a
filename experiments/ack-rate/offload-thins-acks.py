"""With offloads on, there are far fewer ACKs than one for two segments.

Wireshark's view of an iperf test, before the offloads are turned off. It says nothing of how long its card gathers
frames. Those of a gigabit are 12.3 us apart: where the card looks every 10 us, there is nothing to hand up together.
"""

from lab import (
    Above,
    Arm,
    Bulk,
    Capture,
    Demonstrated,
    Duration,
    Experiment,
    Implied,
    Point,
    Sweep,
    Variant,
    metric,
    model,
)

FEWER = Implied(2, "an ACK for every second segment, which 'the ACK generation rate is much lower' compares with")


def after(coalescing: str, claimed: Implied | None = FEWER) -> Point:
    """Frames wait so long for the receiver to look for them."""
    return Point(coalescing, claimed, hosts={"receiver": {"coalescing": coalescing}})


# The sender's segmentation is on in any case: its kernel hands down super-packets, and they are cut before the wire.
# The wire's rate is its card's, which pushes back, so that it always has a whole super-packet to send.
EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"shaper": "nic"}},
    sysctls={"net.ipv4.tcp_rmem": "4096 6291456 6291456", "net.ipv4.tcp_moderate_rcvbuf": 0},
    hosts={"receiver": {"offloads": {"gro": True}}},
    workload=Bulk(duration=Duration.of("1200 ms")),
    probes=(Capture(node="receiver"),),
    metric=metric.segments_per_ack(start=0.1, end=1.2),
    prediction=model.segments_per_batch,
    arms=(
        Arm("ticks-of-1-ms", title="HZ=1000"),
        Arm(
            "ticks-of-4-ms",
            kernel=Variant(hz=250),
            explains=Demonstrated("what waits is handed up at the kernel's next tick: with fewer ticks, fewer ACKs"),
            title="HZ=250",
        ),
    ),
    sweep=Sweep(
        "coalescing",
        (after("10 us", None), after("20 us"), after("50 us"), after("100 us"), after("200 us"), after("400 us")),
    ),
    tolerance=Above(
        2, because="'much lower' is, at the least, less than half as many ACKs: more than four segments for each"
    ),
)
