"""TCP_NODELAY can defeat the piggybacking of ACKs: small packets get ACKs of their own, a whole message does not.

The warning before the techniques, without a figure.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Arm, AtLeast, Exactly, Experiment
from lab.workload import SmallWrites

NODELAY, CORK, PLAIN = (SmallWrites(messages=200, way=way) for way in ("nodelay", "cork", "plain"))

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"delay": "200 us"}},
    workload=NODELAY,
    probes=(Capture(node="sender"),),
    metric=metric.lone_acks(),
    prediction=model.lone_acks,
    arms=(
        Arm("nodelay", reported=1, tolerance=AtLeast(because="one such packet a message defeats it")),
        Arm("cork", reported=0, workload=CORK),
        Arm("plain", workload=PLAIN),
    ),
    tolerance=Exactly(because="packets are counted"),
)
