"""TCP_MAXSEG only sets an upper bound: it cannot raise the MSS above what the peer announced, 460 bytes.

The first idea for a larger MSS, and why it was dropped.
"""

from lab import Arm, Bulk, Capture, Exactly, Experiment, Implied, Size, metric, model

MEGABYTE = Size.of("1 MB")

UNRAISED = Implied("448 B", "the 460 that the peer announced, less 12 of timestamps")
LOWERED = Implied("288 B", "'TCP_MAXSEG only sets an upper bound': 300, less 12 of timestamps")

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Bulk(size=MEGABYTE),
    probes=(Capture(node="sender"),),
    metric=metric.largest_payload(),
    prediction=model.largest_payload,
    arms=(
        Arm("not-set", UNRAISED, title="TCP_MAXSEG not set"),
        Arm("asks-for-1460", UNRAISED, workload=Bulk(size=MEGABYTE, maxseg=Size(1460)), title="TCP_MAXSEG 1460"),
        Arm("asks-for-300", LOWERED, workload=Bulk(size=MEGABYTE, maxseg=Size(300)), title="TCP_MAXSEG 300"),
    ),
    tolerance=Exactly(because="a segment has a length; all are looked at"),
)
