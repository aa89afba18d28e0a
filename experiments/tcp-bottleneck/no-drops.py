"""The delay loses no packet: no drop in the queue, no retransmission in the capture or in Wireshark's Expert Info.

`tc -s qdisc` after the second iperf run, and the sender's tcpdump in Wireshark.
"""

from lab import metric, model
from lab.probe import Capture, ExpertInfo
from lab.spec.experiment import Arm, Exactly, Experiment
from lab.units import Duration
from lab.workload import Iperf3

EXPERIMENT = Experiment(
    topology="delay-10ms",
    workload=Iperf3(duration=Duration.of("10 s")),
    metric=metric.drops(),
    prediction=model.lost_frames,
    arms=(
        Arm("qdisc", reported=0),
        Arm("capture", reported=0, probes=(Capture(node="sender"),), metric=metric.retransmits()),
        Arm(
            "expert-info",
            reported=0,
            probes=(ExpertInfo(node="sender"),),
            metric=metric.expert_retransmits(),
        ),
    ),
    tolerance=Exactly(because="frames are counted"),
)
