"""A threshold of more than a seventh of the bandwidth-delay product keeps the link full.

Section 3.4. Over 2 ms a gigabit holds 163 frames: a seventh are 23, and the threshold is 30.
"""

from lab import metric, model
from lab.probe import TcpInfo
from lab.spec.experiment import Arm, Demonstrated, Experiment, Implied, Within
from lab.units import Duration
from lab.workload import Bulk, Flow, Flows, Program

START, LENGTH, SPREAD = Duration.of("100 ms"), Duration.of("3 s"), Duration.of("10 ms")
BOTH_ENDS = Flow(
    "both-ends",
    Program(argv=("python3", "{files}/_both_ends.py"), files=("_both_ends.py",), client="receiver"),
)
FULL = Implied("941 Mbit/s", "1 Gbit/s × 1448 / 1538")


def threshold(time: str) -> dict[str, dict[str, object]]:
    """A port over 2 ms of round trip that marks from this threshold on."""
    queue = {"kind": "codel", "limit": 10000, "target": "1 s", "interval": "2 s", "ecn": True, "ce_threshold": time}
    return {"port": {"delay": "1 ms", "forward": {"queue": queue}}}


EXPERIMENT = Experiment(
    topology="rack",
    workload=Flows(
        (
            BOTH_ENDS,
            Flow("first", Bulk(client="sender", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
            Flow("second", Bulk(client="rival", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
        )
    ),
    probes=(TcpInfo(node="receiver", interval=Duration.of("100 ms")),),
    metric=metric.total_goodput(1, 3),
    prediction=model.total_goodput,
    arms=(
        Arm("30-frames", FULL, links=threshold("369 us")),
        Arm(
            "4-frames",
            FULL,
            links=threshold("49 us"),
            prediction=None,
            accuracy=Within(0.5, because="the law is for a queue that never runs empty"),
            explains=Demonstrated(
                "with a threshold far below a seventh, the queue runs empty and the link is not full"
            ),
        ),
    ),
    samples=10,
    tolerance=Within(0.01, because="'full' is but for a hundredth"),
    accuracy=Within(0.01, because="the model has the link full but for what is sent twice"),
)
