"""No segment is longer than 460 bytes in either direction, although one of them carries 1500.

What follows from the first tcpdump.
"""

from dataclasses import replace

from lab import Arm, AtMost, Capture, Experiment, Netcat, Reported, Size, metric, model

BOUND = Reported("460 B", "segment payloads are no greater than 460 bytes, regardless of direction")
BACK = Arm(
    "b-to-a", BOUND, metric=metric.largest_payload("back"), prediction=model.largest_payload_back, title="B to A"
)
WITHOUT = {"net.ipv4.tcp_timestamps": 0}

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("1 MB"), back=Size.of("500 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.largest_payload(),
    prediction=model.largest_payload,
    arms=(
        Arm("a-to-b", BOUND, title="A to B"),
        BACK,
        Arm("a-to-b-no-timestamps", BOUND, sysctls=WITHOUT, title="A to B, no timestamps"),
        replace(BACK, name="b-to-a-no-timestamps", sysctls=WITHOUT, title="B to A, no timestamps"),
    ),
    tolerance=AtMost(because="'no greater than' is a bound; all segments are looked at"),
)
