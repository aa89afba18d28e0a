"""Timestamps give a sender an accurate round-trip time for every ACK, by one subtraction.

The article's account of RFC 1323.
"""

from lab import (
    Absolute,
    Arm,
    Bulk,
    Capture,
    Demonstrated,
    Duration,
    Exactly,
    Experiment,
    Implied,
    TcpInfo,
    Untestable,
    Within,
    metric,
    model,
)

CLEAN = {"path": {"forward": {"loss": "0 %"}}}
OFF = {"net.ipv4.tcp_timestamps": 0}
AGAIN = metric.rtt_samples("again", by="data")

EVERY = Implied(1, "'for every ACK segment': the share of ACKs whose echo gives one", part="for every ACK")

EXPERIMENT = Experiment(
    topology="lossy",
    workload=Bulk(duration=Duration.of("3 s")),
    probes=(Capture(node="sender"), TcpInfo(node="sender")),
    metric=metric.rtt_samples(),
    prediction=model.rtt_per_ack,
    samples=10,  # of what is lost
    arms=(
        Arm("clean", EVERY, links=CLEAN, samples=1, title="clean path"),
        Arm("lossy", EVERY, title="path with loss"),
        Arm(
            "new-data",
            EVERY,
            metric=metric.rtt_samples("new"),
            prediction=model.rtt_for_new_data,
            explains=Demonstrated(
                "every ACK of new data gives one; a duplicate, sent while a segment is missing, echoes the past"
            ),
            title="ACKs of new data",
        ),
        Arm(
            "retransmitted",
            metric=AGAIN,
            prediction=model.rtt_despite_retransmission,
            explains=Demonstrated(
                "an ACK of a retransmission gives one as well, as its echo says which transmission arrived; by the "
                "definition of what is counted, this cannot come out otherwise"
            ),
            title="ACKs of retransmissions",
        ),
        Arm(
            "retransmitted-off",
            sysctls=OFF,
            metric=AGAIN,
            prediction=model.rtt_despite_retransmission,
            explains=Demonstrated("without timestamps these samples go, by Karn's rule; this, too, is by definition"),
            title="the same, no timestamps",
        ),
        Arm(
            "all-off",
            sysctls=OFF,
            metric=metric.rtt_samples(by="linux"),
            explains=Demonstrated("what the kernel takes without timestamps: segments are timed, and SACKed"),
            title="all ACKs, no timestamps",
        ),
        Arm(
            "error",
            links=CLEAN,
            samples=1,
            workload=Bulk(duration=Duration.of("30 s")),  # 125,000 samples: their mean strays by 0.2 %
            metric=metric.echo_error(),
            prediction=model.third_of_tick,
            accuracy=Within(0.005, because="round trips of every length are as good as uniform"),
            explains=Demonstrated("the subtraction is in ticks of 1 ms, the time of a segment itself in nanoseconds"),
            title="error of a sample",
        ),
        Arm(
            "replayed",
            metric=metric.srtt_difference(),
            prediction=model.srtt_difference,
            accuracy=Absolute("1 us", because="the kernel times a segment in whole microseconds, the capture in less"),
            explains=Demonstrated("the kernel's own srtt follows from these counts, to 1 us"),
            title="kernel's srtt, replayed",
        ),
    ),
    tolerance=Exactly(because="ACKs are counted"),
    untestable=(Untestable("an accurate RTT", because="it does not say how accurate"),),
    expect="not reproduced",
)
