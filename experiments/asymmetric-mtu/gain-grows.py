"""The gain of a raised MSS grows with the round-trip time, and the smaller the MSS was without it.

The summary of the measurements; the times with the small MSS, 27, 40 and 79 s, over those with the raised one.
"""

from dataclasses import replace

from lab import metric, model
from lab.middlebox import MssProgram
from lab.spec.experiment import Arm, Experiment, Figure, Point, Sweep, Within
from lab.units import Size
from lab.workload import Bulk

SIZE = Size.of("20 MiB")  # a tenth of the article's: but for slow start, the ratio is the same
GAINS: dict[Figure, Figure] = {"0 ms": 27 / 18, "5 ms": 40 / 19, "10 ms": 79 / 23}
RAISED = (MssProgram(node="receiver", mss=Size(1460)),)
WHY = "with 127 segments a round trip, of whatever size, the gain grows as the article says"


def narrow(mtu: int) -> dict[str, dict[str, dict[str, Size]]]:
    """The way back carries packets of `mtu` bytes at most."""
    return {"path": {"back": {"mtu": Size(mtu)}}}


def window(name: str, buffer: int, relative_to: str = "raised-127-segments") -> Arm:
    """The receiver has this buffer, and reads at once."""
    rmem = {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}
    at_once = Bulk(size=SIZE, watermark=Size(1))
    return Arm(name, relative_to=relative_to, sysctls=rmem, workload=at_once, explains=WHY)


EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Bulk(size=SIZE),
    metric=metric.transfer_time(),
    prediction=model.transfer_time,
    arms=(
        Arm("raised", middleboxes=RAISED),
        Arm("mtu-1000", relative_to="raised", links=narrow(1000)),
        Arm("mtu-500", relative_to="raised", reported=GAINS),
        Arm("mtu-300", relative_to="raised", links=narrow(300)),
        replace(window("raised-127-segments", 292882, relative_to=""), middleboxes=RAISED),
        replace(window("mtu-1000-127-segments", 228408), links=narrow(1000)),
        replace(window("mtu-500-127-segments", 115072), reported=GAINS),
        replace(window("mtu-300-127-segments", 64072), links=narrow(300)),
    ),
    sweep=Sweep(
        "delay each way",
        tuple(Point(delay, links={"path": {"delay": delay}}) for delay in ("0 ms", "5 ms", "10 ms", "20 ms")),
    ),
    tolerance=Within(0.1, because="a ratio of two averages in whole seconds"),
    expect="not reproduced",
)
