"""Timestamps give a sender an accurate round-trip time for every ACK, by one subtraction.

The article's account of RFC 1323.
"""

from lab import metric, model
from lab.probe import Capture, TcpInfo
from lab.spec.experiment import Arm, Exactly, Experiment, Within
from lab.units import Duration
from lab.workload import Bulk

CLEAN = {"path": {"forward": {"loss": "0 %"}}}
OFF = {"net.ipv4.tcp_timestamps": 0}
AGAIN = metric.rtt_samples("again", by="data")

EXPERIMENT = Experiment(
    topology="lossy",
    workload=Bulk(duration=Duration.of("3 s")),
    probes=(Capture(node="sender"), TcpInfo(node="sender")),
    metric=metric.rtt_samples(),
    prediction=model.rtt_per_ack,
    arms=(
        Arm("clean", reported=1, links=CLEAN),
        Arm("lossy", reported=1),
        Arm(
            "new-data",
            reported=1,
            metric=metric.rtt_samples("new"),
            prediction=model.rtt_for_new_data,
            explains="every ACK of new data gives one; a duplicate, sent while a segment is missing, echoes the past",
        ),
        Arm(
            "retransmitted",
            metric=AGAIN,
            prediction=model.rtt_despite_retransmission,
            explains="an ACK of a retransmission gives one as well: its echo says which transmission arrived",
        ),
        Arm(
            "retransmitted-off",
            sysctls=OFF,
            metric=AGAIN,
            prediction=model.rtt_despite_retransmission,
            explains="that is what goes without timestamps, by Karn's rule",
        ),
        Arm(
            "all-off",
            sysctls=OFF,
            metric=metric.rtt_samples(by="linux"),
            explains="and all: segments are timed, and SACKed",
        ),
        Arm(
            "error",
            links=CLEAN,
            metric=metric.echo_error(),
            prediction=model.third_of_tick,
            accuracy=Within(0.005, because="round trips of every length are as good as uniform"),
            explains="the subtraction is in ticks of 1 ms: less accurate than the segment's own time, in nanoseconds",
        ),
        Arm(
            "replayed",
            metric=metric.srtt_difference(),
            explains="the kernel's own srtt follows from these counts, to 1 us",
        ),
    ),
    tolerance=Exactly(because="ACKs are counted"),
    expect="not reproduced",
)
