"""With 5 ms each way 200 MiB take 40 s with the small MSS and 19 s with the raised one: more than 50 % less.

The second pair of `time nc`, with netem's delay on both hosts.
"""

from lab import metric, model
from lab.middlebox import MssProgram
from lab.spec.experiment import Arm, Experiment, Within
from lab.units import Duration, Size
from lab.workload import Bulk

SIZE = Size.of("200 MiB")
AT_ONCE = Bulk(size=SIZE, duration=Duration.of("2 min"), watermark=Size(1))  # as it is read
RAISED = (MssProgram(node="receiver", mss=Size(1460)),)


def buffer(size: int) -> dict[str, str]:
    """The receiver's, from the start."""
    return {"net.ipv4.tcp_rmem": f"4096 {size} {size}"}


EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    links={"path": {"delay": "5 ms"}},
    workload=Bulk(size=SIZE),
    metric=metric.transfer_time(),
    prediction=model.transfer_time,
    arms=(
        Arm("small", reported="40 s"),
        Arm("raised", reported="19 s", middleboxes=RAISED),
        Arm(
            "small-127-segments",
            reported="40 s",
            explains="40 s is a window of 127 small segments a round trip, and 127 large ones would fill the line",
            sysctls=buffer(115072),
            workload=AT_ONCE,
        ),
        Arm(
            "raised-127-segments",
            reported="19 s",
            explains="127 large segments are more than the path holds: the line's rate is the bound",
            middleboxes=RAISED,
            sysctls=buffer(292882),
            workload=AT_ONCE,
        ),
        Arm(
            "raised-57-kB",
            reported="19 s",
            explains="a window of as many bytes as the small segments had does not give the article's 19 s",
            middleboxes=RAISED,
            sysctls=buffer(91520),
            workload=AT_ONCE,
        ),
    ),
    tolerance=Within(0.07, because="averages of a few runs, given in whole seconds"),
    expect="not reproduced",
)
