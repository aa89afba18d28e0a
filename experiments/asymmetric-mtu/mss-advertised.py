"""Each end announces its own MTU less 40: the SYN of the host behind 500 bytes says 460, the SYN-ACK to it 1460.

The first tcpdump, of a connection without data.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Arm, Exactly, Experiment
from lab.units import Size
from lab.workload import Netcat

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("10 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.mss_in("SYN"),
    prediction=model.mss_of_syn,
    arms=(
        Arm("syn", reported="460 B"),
        Arm("syn-ack", reported="1460 B", metric=metric.mss_in("SYN-ACK"), prediction=model.mss_of_syn_ack),
    ),
    tolerance=Exactly(because="an option holds a number"),
)
