"""With offloads off, a receiver sends an ACK for at least every second full-sized segment.

RFC 5681 4.2 and RFC 1122 4.2.3.2, and the picture after `ethtool -K gro off tso off gso off` on both ends.
"""

from lab import Arm, AtMost, Bulk, Capture, Demonstrated, Duration, Experiment, Reported, metric, model

TWO = Reported(2, "the ACK SHOULD be generated for at least every second full-sized segment")

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    # A window that grows is acknowledged by another rule: here it has grown after 4 ms, and is left alone then.
    sysctls={"net.ipv4.tcp_rmem": "4096 6291456 6291456", "net.ipv4.tcp_moderate_rcvbuf": 0},
    workload=Bulk(duration=Duration.of("300 ms")),
    probes=(Capture(node="receiver"),),
    metric=metric.segments_per_ack(start=0.05, end=0.3),
    prediction=model.segments_per_ack,
    arms=(
        Arm("ethtool-off", TWO, title="TSO and GSO off"),
        Arm("single-segments", TWO, hosts={"sender": {"gso_max_segs": 1}}, title="gso_max_segs 1"),
        Arm(
            "window-grows",
            metric=metric.segments_per_ack(start=0.0005, end=0.003),
            prediction=model.segments_per_ack_growing,
            explains=Demonstrated("two is the most: while its window grows, Linux acknowledges every single segment"),
        ),
    ),
    tolerance=AtMost(because="an ACK for at least every second segment: at most two segments for each ACK"),
)
