"""Packets of two sizes."""

from lab import (
    Arm,
    AtLeast,
    Bulk,
    Capture,
    Duration,
    Exactly,
    Experiment,
    Metric,
    MssProgram,
    Size,
    Tolerance,
    Within,
    metric,
)
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

NARROW = "../../../topologies/asymmetric-mtu.yaml"
SHORT = Bulk(duration=Duration.of("500 ms"))


def narrow(said: Said, measure: Metric, tolerance: Tolerance) -> Experiment:
    """A transfer to a host whose own route is narrow."""
    return Experiment(
        topology=NARROW,
        workload=SHORT,
        probes=(Capture(node="sender"),),
        metric=measure,
        arms=(Arm("said", said, title="the MSS as announced"),),
        tolerance=tolerance,
    )


def raised(mss: Answer) -> Experiment:
    """The same with another MSS written into what the receiver announces."""
    return Experiment(
        topology=NARROW,
        workload=SHORT,
        middleboxes=(MssProgram(node="receiver", mss=Size(int(mss))),),
        probes=(Capture(node="sender"),),
        metric=metric.bulk_goodput(),
        arms=(Arm("goodput", Goal("94 Mbit/s")),),
        tolerance=AtLeast(because="that is the goal"),
    )


EXERCISE = Exercise(
    minutes=20,
    goals=(
        "to say what a maximum segment size (MSS) announces, and for which direction",
        "to compute payload and goodput from it",
        "to judge what raising an MSS may break",
    ),
    reading=("RFC 9293, section 3.7.1 (MSS)", "RFC 6691 (options and the MSS)", "RFC 8899, section 1 (black holes)"),
    steps=(
        Predict(
            name="payload",
            asks="How many bytes of payload does a segment to the receiver carry?",
            unit="B",
            experiment=lambda said: narrow(said, metric.largest_payload(), Exactly(because="a length is counted")),
            hints=(
                Hint("Timestamps take 12 bytes of what the receiver announces.", 1.01, 1.04),
                Hint("The sender's own route would carry that. What did the receiver announce?", 2.0),
                Hint("The announced MSS is the MTU of the receiver's route less 40; options come out of it."),
            ),
        ),
        Predict(
            name="goodput",
            asks="And how many Mbit/s of payload does the link of 100 Mbit/s carry in such segments?",
            unit="Mbit/s",
            experiment=lambda said: narrow(
                said,
                metric.bulk_goodput(),
                Within(0.002, because="the formula leaves nothing out but the first few packets"),
            ),
            hints=(
                Hint("On the wire such a segment has 52 bytes of headers and 38 of Ethernet around it.", 1.0),
                Hint("Only the payload goes on top of the fraction, all of the frame below it."),
            ),
        ),
        Choose(
            name="why",
            asks="The path to the receiver carries 1500 bytes. Why does the sender not use them?",
            options={
                "a": "The router on the way cuts packets to 500 bytes.",
                "b": "It keeps to the MSS in the receiver's SYN-ACK, which speaks of the receiver's own route.",
                "c": "The receive window is too small for larger packets.",
                "d": "It found out by losses that larger packets do not arrive.",
            },
            remarks={
                "a": "There is no router here, and the capture has no fragments.",
                "b": "The announcement is usually all that a sender learns about the other end's network.",
                "c": "The window holds hundreds of segments.",
                "d": "It never sent a larger one: look at the first data segment.",
            },
            digest="c2396aff22b902eb53bd080b09d75febdea14c58ee04dd3c2f4f41f91c9bd87a",
        ),
        Reach(
            name="mss",
            asks="Which MSS, written over the announced one, brings the goodput to 94 Mbit/s or more?",
            unit="bytes",
            low=88,
            high=9000,
            experiment=raised,
            hints={"goodput": "Which MSS does a host announce whose route carries packets of 1500 bytes?"},
        ),
    ),
)
