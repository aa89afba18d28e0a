"""TCP_NODELAY can defeat the piggybacking of ACKs: small packets get ACKs of their own, a whole message does not.

The warning before the techniques, without a figure.
"""

from lab.metric import any_lone_acks, lone_acks
from lab.model import any_lone_acks as lone_acks_expected
from lab.model import lone_acks as predicted_acks
from lab.probe import Capture
from lab.spec.experiment import Arm, Exactly, Experiment
from lab.workload import SmallWrites

NODELAY, CORK, PLAIN = (SmallWrites(messages=200, way=way) for way in ("nodelay", "cork", "plain"))

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"delay": "200 us"}},
    workload=NODELAY,
    probes=(Capture(node="sender"),),
    metric=any_lone_acks(),
    prediction=lone_acks_expected,
    arms=(
        Arm("nodelay", reported=1),
        Arm("cork", reported=0, workload=CORK),
        Arm("nodelay-packets", metric=lone_acks(), prediction=predicted_acks),
        Arm("plain-packets", workload=PLAIN, metric=lone_acks(), prediction=predicted_acks),
    ),
    tolerance=Exactly(because="a message has such packets, or it has none"),
)
