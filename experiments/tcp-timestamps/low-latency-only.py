"""Timestamps should be turned off in low-latency networks only.

The article's summary, without figure or reason. Read as: over a short round trip there is the gain of about 1 %, over a
long one there are paths where the flow is slower without timestamps. A ratio of 1 or more there would contradict.
"""

from lab.metric import bulk_goodput
from lab.model import goodput_line_rate
from lab.probe import Netstat
from lab.spec.experiment import Arm, Below, Experiment, Within
from lab.units import Duration
from lab.workload import Bulk

OFF = {"net.ipv4.tcp_timestamps": 0}
BELOW = Below(because="the article says worse, and not how much")


def way(one_way_us: int, overtakes: float = 0.5, **forward: str) -> dict[str, dict[str, object]]:
    """As long each way; what overtakes skips that share of it."""
    skipped = round(one_way_us * overtakes)
    return {
        "access": {"forward": {"delay": f"{one_way_us - skipped} us"}, "back": {"delay": f"{one_way_us} us"}},
        "path": {"forward": {"delay": f"{skipped} us", **forward}, "back": {"delay": "0 s"}},
    }


LOW, MIDDLE, HIGH = way(100), way(10_000), way(100_000)
MILD, LOSS = way(100_000, overtakes=0.2), way(100_000, reorder="0 %", loss="1 %")

EXPERIMENT = Experiment(
    topology="reordering",
    workload=Bulk(duration=Duration.of("10 s")),
    probes=(Netstat(node="sender"),),
    metric=bulk_goodput(),
    arms=(
        Arm("low-on", links=LOW, samples=1, prediction=goodput_line_rate),
        Arm(
            "low-off",
            reported=1.01,
            relative_to="low-on",
            links=LOW,
            sysctls=OFF,
            samples=1,
            prediction=goodput_line_rate,
        ),
        Arm("middle-on", links=MIDDLE, samples=1),
        Arm("middle-off", relative_to="middle-on", links=MIDDLE, sysctls=OFF, samples=1),
        Arm("high-on", links=HIGH),
        Arm("high-off", reported=1, relative_to="high-on", links=HIGH, sysctls=OFF, tolerance=BELOW),
        Arm("mild-on", links=MILD),
        Arm("mild-off", relative_to="mild-on", links=MILD, sysctls=OFF, explains="RACK waits for a fifth of the RTT"),
        Arm("loss-on", links=LOSS),
        Arm("loss-off", relative_to="loss-on", links=LOSS, sysctls=OFF, explains="SACK repairs loss without them"),
    ),
    samples=6,
    tolerance=Within(0.005, because="the article says about 1 %: from half a percent to one and a half"),
)
