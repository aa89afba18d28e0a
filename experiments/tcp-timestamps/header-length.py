"""TCP timestamps add 12 bytes to the header of every data segment: 32 bytes with them, 20 without.

The two SystemTap histograms, of 256 samples each.
"""

from lab import Arm, Bulk, Capture, Duration, Exactly, Experiment, Reported, metric, model

EXPERIMENT = Experiment(
    topology="symmetric-10g",
    workload=Bulk(duration=Duration.of("100 ms")),
    probes=(Capture(node="sender"),),
    metric=metric.header_length(),
    prediction=model.tcp_header_length,
    arms=(
        Arm(
            "off",
            Reported("20 B", "TCP header length is 20-bytes for 256 samples"),
            sysctls={"net.ipv4.tcp_timestamps": 0},
            title="timestamps off",
        ),
        Arm(
            "on",
            Reported("32 B", "TCP header is already 32-bytes length"),
            sysctls={"net.ipv4.tcp_timestamps": 1},
            title="timestamps on",
        ),
    ),
    tolerance=Exactly(because="a header has a length; every data segment is counted, none is sampled"),
)
