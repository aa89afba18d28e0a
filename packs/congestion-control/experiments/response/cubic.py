"""CUBIC's window is 38 segments at a loss of one in a thousand, and 187 at one in ten thousand, over 100 ms.

RFC 9438, section 5.1, by its response function with C = 0.4 and a decrease to 0.7; at the first rate it is Reno's.
"""

from lab import metric, model
from lab.spec.experiment import Arm, Experiment, Implied, Point, Sweep, Within
from lab.units import Duration
from lab.workload import Bulk


def lossy(share: str, p: float, window: int) -> Point:
    """A loss rate, and the goodput of the RFC's window: 1448 B segments over 100 ms."""
    implied = Implied(f"{window * 1448 * 80} bit/s", f"{window} segments of 1448 B in 100 ms")
    return Point(p, implied, links={"path": {"forward": {"loss": share}}})


EXPERIMENT = Experiment(
    topology="random-loss",
    links={"path": {"delay": "50 ms"}},
    workload=Bulk(congestion="cubic", duration=Duration.of("200 s")),
    metric=metric.bulk_goodput(),
    prediction=model.goodput_response_cubic,
    arms=(Arm("cubic"),),
    sweep=Sweep("loss rate", (lossy("0.1 %", 0.001, 38), lossy("0.01 %", 0.0001, 187))),
    samples=10,
    tolerance=Within(0.2, because="the function is for regular losses: random ones come in pairs and after pauses"),
    accuracy=Within(0.2, because="the function is for regular losses: random ones come in pairs and after pauses"),
    unexplained="both windows are about a third larger than the function's. It is for losses at equal distances; of "
    "random ones a long pause lets a cubic grow by more than a short one costs. No arm here has regular losses, which "
    "would show whether that is all.",
    expect="not reproduced",
)
