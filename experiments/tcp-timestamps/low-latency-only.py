"""Timestamps should be turned off in low-latency networks only.

The article's summary, without figure or reason. Read as: over a short round trip there is the gain of about 1 %, over a
long one a flow is slower without timestamps, where packets overtake each other. A ratio of 1 or more would contradict.
"""

from lab import metric, model
from lab.probe import Netstat, TcpInfo
from lab.spec.experiment import Arm, AtMost, Experiment, Within
from lab.units import Duration
from lab.workload import Bulk

OFF, NO_DSACK = {"net.ipv4.tcp_timestamps": 0}, {"net.ipv4.tcp_dsack": 0}
WORSE = AtMost(because="it says worse, and not how much")


def way(one_way_us: int, jitter: float = 0.25, loss: str = "0 %") -> dict[str, dict[str, object]]:
    """As long each way; packets to the receiver are up to that share of it early or late."""
    late = {"delay": f"{one_way_us} us", "jitter": f"{round(jitter * one_way_us)} us", "loss": loss}
    return {"path": {"forward": late, "back": {"delay": f"{one_way_us} us"}}}


LOW, MIDDLE, HIGH, LOSSY = way(100), way(10_000), way(100_000), way(100_000, jitter=0, loss="1 %")

EXPERIMENT = Experiment(
    topology="reordering",
    workload=Bulk(duration=Duration.of("41 s")),
    probes=(Netstat(node="sender"), TcpInfo(node="sender", interval=Duration.of("100 ms"))),
    metric=metric.acked_goodput(20, 40),  # what the first seconds bring is chance, with timestamps or without
    prediction=model.goodput_despite_reordering,
    samples=4,
    arms=(
        Arm("low-on", links=LOW, samples=1),
        Arm("low-off", links=LOW, sysctls=OFF, samples=1, relative_to="low-on", reported=1.01),
        Arm("middle-on", links=MIDDLE),
        Arm("middle-off", links=MIDDLE, sysctls=OFF, relative_to="middle-on", reported=1, tolerance=WORSE),
        Arm("high-on", links=HIGH),
        Arm("high-off", links=HIGH, sysctls=OFF, relative_to="high-on", reported=1, tolerance=WORSE),
        Arm("alone-on", links=HIGH, sysctls=NO_DSACK),
        Arm(
            "alone-off",
            links=HIGH,
            sysctls=NO_DSACK | OFF,
            relative_to="alone-on",
            reported=1,
            tolerance=WORSE,
            explains="where a receiver sends no D-SACK, timestamps alone tell what was late from what was lost",
        ),
        Arm("loss-on", links=LOSSY),
        Arm("loss-off", links=LOSSY, sysctls=OFF, relative_to="loss-on", explains="SACK tells what was lost"),
    ),
    tolerance=Within(0.005, because="the article says about 1 %: from half a percent to one and a half"),
    expect="not reproduced",
)
