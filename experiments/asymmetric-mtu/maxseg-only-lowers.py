"""TCP_MAXSEG is an upper bound: a sender that asks for 1460 bytes still sends what its peer announced, 448.

The first idea for a larger MSS, and why it was dropped.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Arm, Exactly, Experiment
from lab.units import Size
from lab.workload import Bulk

MEGABYTE = Size.of("1 MB")

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Bulk(size=MEGABYTE),
    probes=(Capture(node="sender"),),
    metric=metric.largest_payload(),
    prediction=model.largest_payload,
    arms=(
        Arm("not-set", reported="448 B"),
        Arm("asks-for-1460", reported="448 B", workload=Bulk(size=MEGABYTE, maxseg=Size(1460))),
        Arm("asks-for-300", workload=Bulk(size=MEGABYTE, maxseg=Size(300))),
    ),
    tolerance=Exactly(because="a segment has a length; all are looked at"),
)
