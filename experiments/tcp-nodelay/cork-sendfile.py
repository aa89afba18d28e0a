"""TCP_CORK lets the header of a message and the file that sendfile() sends after it begin in one packet.

The closing advice, and the example of SMB's headers, without a figure.
"""

from lab import Arm, Capture, Exactly, Experiment, Implied, Size, SmallWrites, WriteStyle, metric, model

BOTH = Implied(1, "'better performance is obtained if the header and payload is bundled in as few packets as possible'")
APART = Implied(0, "without the cork, 'send these multiple buffers as individual packets'")


def of(way: WriteStyle) -> SmallWrites:
    """A header of 15 fields of 2 bytes, and 8 KiB of a file."""
    return SmallWrites(messages=200, way=way, file=Size.of("8 KiB"))


EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"delay": "200 us"}},
    workload=of("cork"),
    probes=(Capture(node="sender"),),
    metric=metric.file_in_first(),
    prediction=model.file_in_first,
    arms=(
        Arm("cork", BOTH, title="TCP_CORK"),
        Arm("nodelay", APART, workload=of("nodelay"), title="TCP_NODELAY"),
        Arm(
            "cork-first", metric=metric.first_segment(), prediction=model.first_segment, title="first packet, TCP_CORK"
        ),
        Arm(
            "nodelay-first",
            workload=of("nodelay"),
            metric=metric.first_segment(),
            prediction=model.first_segment,
            title="first packet, TCP_NODELAY",
        ),
    ),
    tolerance=Exactly(because="the packet has bytes of both, or of one"),
)
