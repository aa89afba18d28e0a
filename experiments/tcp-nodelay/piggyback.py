"""TCP_NODELAY can defeat the piggybacking of ACKs: small packets get ACKs of their own, a whole message does not.

The warning before the techniques, without a figure.
"""

from lab import Arm, AtLeast, Capture, Exactly, Experiment, Implied, SmallWrites, metric, model

NODELAY, CORK, PLAIN = (SmallWrites(messages=200, way=way) for way in ("nodelay", "cork", "plain"))

DEFEATED = Implied(1, "'TCP_NODELAY can interact with ... ACK piggybacking': one such ACK a message")
NONE = Implied(0, "a message in one packet: 'sent as one packet they will achieve better latency'")

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"delay": "200 us"}},
    workload=NODELAY,
    probes=(Capture(node="sender"),),
    metric=metric.lone_acks(),
    prediction=model.lone_acks,
    arms=(
        Arm(
            "nodelay", DEFEATED, tolerance=AtLeast(because="one such packet a message defeats it"), title="TCP_NODELAY"
        ),
        Arm("cork", NONE, workload=CORK, title="TCP_CORK"),
        Arm("plain", workload=PLAIN, title="no socket option"),
    ),
    tolerance=Exactly(because="packets are counted"),
)
