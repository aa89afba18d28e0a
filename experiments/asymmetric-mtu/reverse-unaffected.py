"""From B to A the small MTU still bounds the segments, raised MSS or not.

The article's last remark on what its method is good for.
"""

from dataclasses import replace

from lab import Arm, Bulk, Capture, Exactly, Experiment, Implied, MssProgram, Size, Within, metric, model

RAISED = (MssProgram(node="receiver", mss=Size(1460)),)
TICKS = Within(0.001, because="a transfer begins anywhere in a jiffy, which its delayed ACKs count from")
TIME = Arm(
    "small-time",
    metric=metric.transfer_time(),
    prediction=model.transfer_time,
    probes=(),
    tolerance=TICKS,
    accuracy=TICKS,
)

SMALL = Implied("448 B", "'constrained by the smaller MTU': 500 B, less 40 of headers and 12 of timestamps")
SAME = Implied(1, "'performance would still be constrained': the same time, raised or not")

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Bulk(client="receiver", server="sender", size=Size.of("10 MiB")),
    probes=(Capture(node="sender"),),
    path=("receiver", "sender"),
    metric=metric.largest_payload(),
    prediction=model.largest_payload,
    arms=(
        Arm("small", SMALL),
        Arm("raised", SMALL, middleboxes=RAISED),
        TIME,
        replace(TIME, name="raised-time", claimed=SAME, relative_to="small-time", middleboxes=RAISED),
    ),
    tolerance=Exactly(because="a segment has a length; all are looked at"),
)
