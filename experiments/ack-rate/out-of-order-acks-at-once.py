"""Out-of-order data is acknowledged at once: a duplicate ACK for each segment behind a hole.

The fourth condition in __tcp_ack_snd_check; RFC 5681 4.2.
"""

from lab import Arm, Bulk, Capture, Demonstrated, DropSegment, Exactly, Experiment, Implied, Size, metric, model

ONE = Implied(1, "an ACK for each segment: 'an immediate duplicate ACK when an out-of-order segment arrives'")

EXPERIMENT = Experiment(
    topology="routed-1g",
    # A window that has grown to its full size before the hole, and has room for all that comes behind it.
    sysctls={"net.ipv4.tcp_rmem": "4096 262144 262144", "net.ipv4.tcp_moderate_rcvbuf": 0},
    workload=Bulk(size=Size(140 * 1448)),
    middleboxes=(DropSegment(node="router", number=71),),
    probes=(Capture(node="receiver"),),
    metric=metric.acks_after_hole(),
    prediction=model.acks_after_hole,
    arms=(
        Arm("defaults", ONE),
        Arm(
            "no-compression",
            ONE,
            sysctls={"net.ipv4.tcp_comp_sack_nr": 0},
            explains=Demonstrated(
                "since 4.18 SACKs are gathered; only three go at once, as many as a fast retransmission needs"
            ),
        ),
        Arm(
            "no-sack",
            ONE,
            sysctls={"net.ipv4.tcp_sack": 0},
            explains=Demonstrated("without SACK an ACK says nothing but its number, and none can stand for several"),
        ),
    ),
    tolerance=Exactly(because="ACKs and segments are counted"),
    expect="not reproduced",
)
