"""The same window carries a tenth over ten times the round trip, however many seconds that is.

RFC 7323, section 1.1. Each transfer lasts for sixty round trips: to a peer a light second away, ten, and 25.
"""

from lab import metric, model
from lab.probe import TcpInfo
from lab.spec.experiment import Arm, Experiment, Implied, Within
from lab.units import Duration
from lab.workload import Bulk


def away(name: str, milliseconds: int, share: float | None = None) -> Arm:
    """A peer so far away, and its share of what the nearest gets."""
    return Arm(
        name,
        Implied(share, "as the inverse of the round trip") if share else None,
        links={"path": {"delay": f"{milliseconds} ms", "rate": "100 Mbit/s"}},
        workload=Bulk(duration=Duration(120 * milliseconds * 10**6)),
        probes=(TcpInfo(node="sender", interval=Duration.of("1 s")),),
        relative_to="1-s" if share else "",
    )


EXPERIMENT = Experiment(
    topology="deep-space",
    workload=Bulk(),
    metric=metric.steady_goodput("sender"),
    prediction=model.goodput_steady,
    arms=(away("1-s", 1000), away("10-s", 10_000, 1 / 10), away("25-s", 25_000, 1 / 25)),
    tolerance=Within(0.05, because="a tenth has one digit"),
    accuracy=Within(0.05, because="samples come once in half a round trip: one of the sixty may be on the other side"),
    unexplained="the nearest peer gets a fifth less than a window in each round trip, and the others less of that: "
    "the simulation, which has the send buffer's rules, says so, too. What of them it is, no arm here "
    "shows.",
    expect="not reproduced",
)
