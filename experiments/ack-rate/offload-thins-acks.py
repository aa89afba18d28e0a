"""With offloads on, there are far fewer ACKs than one for two segments.

Wireshark's view of an iperf test, before the offloads are turned off.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Arm, AtLeast, Experiment, Point, Sweep, Variant
from lab.units import Duration
from lab.workload import Bulk


def after(coalescing: str, reported: int | None = None) -> Point:
    """Frames wait so long for the receiver to look for them."""
    return Point(coalescing, reported, hosts={"receiver": {"coalescing": coalescing}})


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
        Arm("ticks-of-1-ms"),
        Arm(
            "ticks-of-4-ms",
            kernel=Variant(hz=250),
            explains="what waits is handed up at the kernel's next tick: with fewer ticks, fewer ACKs",
        ),
    ),
    sweep=Sweep(
        "coalescing",
        (after("10 us"), after("20 us", 2), after("50 us"), after("100 us"), after("200 us"), after("400 us", 2)),
    ),
    tolerance=AtLeast(because="the article gives no figure, only that it is much lower than the rate of data"),
)
