"""A gigabit Ethernet carries 927 Mbit/s of TCP; the headers of Ethernet, IP and TCP are the difference.

The first iperf run, 10 s with nothing changed.
"""

from lab import metric, model
from lab.probe import Capture, TcpInfo
from lab.spec.experiment import Arm, Experiment, Within
from lab.units import Duration
from lab.workload import Iperf3

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=Iperf3(duration=Duration.of("10 s")),
    probes=(Capture(node="sender"), TcpInfo(node="sender")),
    metric=metric.iperf3_goodput(),
    prediction=model.goodput_line_rate,
    arms=(Arm("defaults", reported="927 Mbit/s"),),
    tolerance=Within(0.02, because="the article's own seconds spread over 2 % (915 to 934 Mbit/s)"),
)
