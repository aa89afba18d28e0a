"""A receiver whose buffer is full delays ACKs until some of it is freed.

The second condition in __tcp_ack_snd_check: the window must not have shrunk; against the silly window syndrome.
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
    PacedReader,
    Rate,
    Size,
    metric,
    model,
)


def reading(block: str, rate: str = "100 Mbit/s") -> PacedReader:
    """A reader at `rate`, a `block` at a time."""
    return PacedReader(duration=Duration.of("1500 ms"), rate=Rate.of(rate), block=Size.of(block))


FEWER = Implied(2, "an ACK for every second segment, which 'the ACK generation rate is much lower' compares with")

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    # A buffer of a fixed size, full after 100 ms. A 16th of its window is 41 KiB.
    sysctls={"net.ipv4.tcp_rmem": "4096 1048576 1048576", "net.ipv4.tcp_moderate_rcvbuf": 0},
    workload=reading("64 KiB"),
    probes=(Capture(node="receiver"),),
    metric=metric.segments_per_ack(start=0.3, end=1.3),
    prediction=model.segments_per_read,
    arms=(
        Arm("reads-64-KiB", FEWER),
        Arm("reads-96-KiB", FEWER, workload=reading("96 KiB")),
        Arm("reads-128-KiB", FEWER, workload=reading("128 KiB")),
        Arm("reads-faster", FEWER, workload=reading("64 KiB", "400 Mbit/s")),
        Arm(
            "reader-keeps-up",
            workload=Bulk(duration=Duration.of("300 ms")),
            metric=metric.segments_per_ack(start=0.05, end=0.3),
            prediction=model.segments_per_ack,
            explains=Demonstrated(
                "where the buffer does not fill, the same receiver acknowledges every second segment"
            ),
        ),
    ),
    # The article names this as the second cause of what offload-thins-acks tests, in one breath with the first.
    tolerance=Above(
        2, because="'much lower' is, at the least, less than half as many ACKs: more than four segments for each"
    ),
)
