"""A bulk transfer fills 1 Gbit/s of frames over a long path, but for their headers.

Source: arithmetic. 1448 B of payload in every 1538 B that a frame takes on the wire. CUBIC would leave slow start at
half of the window, and would not reach the whole window before the transfer ends.
"""

from lab import Arm, Bulk, Capture, Duration, Experiment, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=Bulk(duration=Duration.of("10 s"), congestion="bbr"),
    probes=(Capture(),),
    metric=metric.capture_goodput(0.5, 9.5, node="receiver"),
    tolerance=Within(0.02, because="BBR looks for more bandwidth, and drains what it finds, eight round trips long"),
    arms=(Arm("frames", Reported("941.482 Mbit/s", "its headers leave as much"), links={"path": {"delay": "10 ms"}}),),
)
