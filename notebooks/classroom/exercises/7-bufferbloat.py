"""A queue that is too long."""

from lab import Arm, AtLeast, AtMost, Bulk, Capture, Duration, Experiment, Flow, Flows, Ping, TcpInfo, Within, metric
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

PAIR = "../../../topologies/symmetric-1g.yaml"
LONG = 250  # frames
BOTH = Flows(
    flows=(
        Flow("upload", Bulk(duration=Duration.of("12 s"))),
        Flow("ping", Ping(count=50, interval=Duration.of("200 ms")), start=Duration.of("1 s")),
    )
)
PROBES = (Capture(node="sender"), TcpInfo(node="sender"))


def uplink(kind: str, **given: object) -> dict[str, dict[str, object]]:
    """10 Mbit/s over 20 ms, with that queue before the link."""
    queue = {"kind": kind, **given}
    return {"path": {"rate": "10 Mbit/s", "delay": "10 ms", "forward": {"queue": queue}}}


def waits(said: Said, links: dict[str, dict[str, object]]) -> Experiment:
    """The longest of the pings beside an upload."""
    return Experiment(
        topology=PAIR,
        links=links,
        workload=BOTH,
        probes=PROBES,
        metric=metric.of_flow("ping", metric.ping_rtt("max")),
        arms=(Arm("said", said, title="the slowest ping"),),
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
                Goal("9 Mbit/s"),
                metric=metric.flow_goodput("upload", 2, 11),
                tolerance=AtLeast(because="that is the goal"),
            ),
            Arm("longest-ping", Goal("50 ms")),
        ),
        tolerance=AtMost(because="that is the goal"),
    )


EXERCISE = Exercise(
    minutes=25,
    goals=(
        "to predict the delay that a full queue adds, from its length and the rate",
        "to say what a flow queue with CoDel (fq_codel) does for those who send little",
        "to choose the length of a plain queue",
    ),
    reading=("RFC 7567 (why queues need managing)", "RFC 8289 (CoDel)", "RFC 8290 (FQ-CoDel)"),
    steps=(
        Predict(
            name="fifo",
            asks="How many milliseconds does the slowest ping take, beside an upload, with a queue of 250 frames?",
            unit="ms",
            experiment=lambda said: waits(said, uplink("pfifo", limit=LONG)),
            hints=(
                Hint("That is the empty path. The upload fills the queue before it.", 0.0, 0.1),
                Hint("A frame of 1538 bytes takes 1.23 ms at 10 Mbit/s. How many wait before the ping?", 0.1, 0.85),
                Hint("Only one direction has the queue: the answer comes back at once.", 1.2),
                Hint("The path itself takes 20 ms, on top of the queue."),
            ),
        ),
        Predict(
            name="fq-codel",
            asks="And with fq_codel in place of the plain queue?",
            unit="ms",
            experiment=lambda said: waits(said, uplink("fq_codel")),
            hints=(
                Hint(
                    "5 ms is what CoDel lets a queue keep. Whose packets wait in the queue that keeps them?", 1.1, 1.3
                ),
                Hint("Does the ping wait behind the upload? fq_codel has a queue for each flow.", 1.3),
                Hint("The empty path takes 20 ms already, and a frame that has begun must end."),
            ),
        ),
        Choose(
            name="why",
            asks="CoDel lets packets wait for 5 ms as a rule. Why does the ping not even take 5 ms more?",
            options={
                "a": "It has a queue of its own, which is empty, and its turn comes before the upload's long one.",
                "b": "fq_codel knows ICMP, and puts it first.",
                "c": "The upload stopped: fq_codel dropped all its packets.",
                "d": "Pings are too small to be queued.",
            },
            remarks={
                "a": "A new flow is served first, for one quantum. At most one frame of the upload is ahead of it.",
                "b": "fq_codel reads addresses and ports to tell flows apart, and prefers no protocol.",
                "c": "The figure shows the upload at the link's rate.",
                "d": "With the plain queue the same pings waited for 300 ms.",
            },
            digest="1ceed26d9dde1b76a41199427fe9d5c53268df19b90efe0ef1812b6f69b87eee",
        ),
        Reach(
            name="limit",
            asks="With a plain queue: how many frames keep pings under 50 ms, and the upload at 9 Mbit/s or more?",
            unit="frames",
            low=2,
            high=1000,
            experiment=shortened,
            hints={
                "upload": "After a drop the path runs empty: the queue is too short. How many frames fill the path?",
                "longest-ping": "Each frame that may wait adds 1.23 ms to the path's 20 ms.",
            },
        ),
    ),
)
