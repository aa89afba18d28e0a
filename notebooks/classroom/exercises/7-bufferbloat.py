"""A queue that is too long."""

from lab import metric
from lab.probe import Capture, QueueState, TcpInfo
from lab.spec.claimed import Reported
from lab.spec.exercise import Answer, Choose, Exercise, Hint, Predict, Reach
from lab.spec.experiment import Arm, AtLeast, AtMost, Experiment, Within
from lab.units import Duration
from lab.workload import Bulk, Flow, Flows, Ping

PAIR = "../../../topologies/symmetric-1g.yaml"
LONG = 250  # frames
BOTH = Flows(
    flows=(
        Flow("upload", Bulk(duration=Duration.of("20 s"))),
        Flow("ping", Ping(count=90, interval=Duration.of("200 ms")), start=Duration.of("1 s")),
    )
)
PROBES = (Capture(node="sender"), TcpInfo(node="sender"), QueueState(link="path"))


def uplink(kind: str, **given: object) -> dict[str, dict[str, object]]:
    """10 Mbit/s over 20 ms, with that queue before the link."""
    queue = {"kind": kind, **given}
    return {"path": {"rate": "10 Mbit/s", "delay": "10 ms", "forward": {"queue": queue}}}


def waits(said: Reported, links: dict[str, dict[str, object]]) -> Experiment:
    """The longest of the pings beside an upload."""
    return Experiment(
        topology=PAIR,
        links=links,
        workload=BOTH,
        probes=PROBES,
        metric=metric.of_flow("ping", metric.ping_rtt("max")),
        arms=(Arm("said", said),),
        tolerance=Within(0.1, because="the sender may find the queue a few frames short of full"),
    )


def shortened(frames: Answer) -> Experiment:
    """Whether a plain queue of so many frames keeps the link full, and pings short."""
    return Experiment(
        topology=PAIR,
        links=uplink("pfifo", limit=int(frames)),
        workload=BOTH,
        probes=PROBES,
        metric=metric.of_flow("ping", metric.ping_rtt("max")),
        arms=(
            Arm(
                "upload",
                Reported("9 Mbit/s", "the goal"),
                metric=metric.flow_goodput("upload", 2, 19),
                tolerance=AtLeast(because="that is the goal"),
            ),
            Arm("longest-ping", Reported("50 ms", "the goal")),
        ),
        tolerance=AtMost(because="that is the goal"),
    )


EXERCISE = Exercise(
    minutes=25,
    goals=(),
    reading=(),
    steps=(
        Predict(name="fifo", asks="?", unit="ms", experiment=lambda said: waits(said, uplink("pfifo", limit=LONG))),
        Predict(name="fq-codel", asks="?", unit="ms", experiment=lambda said: waits(said, uplink("fq_codel"))),
        Reach(name="limit", asks="?", unit="frames", low=2, high=1000, experiment=shortened),
    ),
)
