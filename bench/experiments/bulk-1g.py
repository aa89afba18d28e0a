"""A bulk transfer fills 1 Gbit/s of frames but for their headers.

Source: arithmetic. 1448 B of payload in every 1538 B that a frame takes on the wire.
"""

from lab import Arm, Bulk, Capture, Duration, Experiment, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=Bulk(duration=Duration.of("10 s")),
    probes=(Capture(),),
    metric=metric.capture_goodput(0.5, 9.5, node="receiver"),
    tolerance=Within(0.001, because="slow start is over within a millisecond"),
    arms=(Arm("frames", Reported("941.482 Mbit/s", "its headers leave as much")),),
)
