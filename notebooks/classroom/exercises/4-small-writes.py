"""Forty milliseconds."""

from typing import Literal, cast

from lab import Arm, AtMost, Capture, Exactly, Experiment, SmallWrites, Within, metric
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

LOOPBACK = "../../../topologies/loopback.yaml"
WAYS = ("plain", "nodelay", "cork", "writev", "one-buffer")
LATE = "a timer fires up to a tick late, and the first ACK is not delayed"

Way = Literal["plain", "nodelay", "cork", "writev", "one-buffer"]


def writing(way: str) -> SmallWrites:
    """100 messages of 15 writes."""
    return SmallWrites(client="host", server="host", messages=100, writes=15, way=cast(Way, way))


def stall(said: Said) -> Experiment:
    """The time that 100 messages take."""
    return Experiment(
        topology=LOOPBACK,
        path=("host", "host"),
        workload=writing("plain"),
        probes=(Capture(node="host", interface="lo"),),
        metric=metric.exchange_time(),
        arms=(Arm("plain", said),),
        tolerance=Within(0.05, because=LATE),
    )


def packets(said: Said) -> Experiment:
    """The packets of a message without Nagle's rule."""
    return Experiment(
        topology=LOOPBACK,
        path=("host", "host"),
        workload=writing("nodelay"),
        probes=(Capture(node="host", interface="lo"),),
        metric=metric.data_packets("host"),
        arms=(Arm("nodelay", said),),
        tolerance=Exactly(because="packets are counted"),
    )


def quick(way: Answer) -> Experiment:
    """Whether a way of writing takes one packet a message, and no wait."""
    return Experiment(
        topology=LOOPBACK,
        path=("host", "host"),
        workload=writing(str(way)),
        probes=(Capture(node="host", interface="lo"),),
        metric=metric.data_packets("host"),
        arms=(
            Arm("packets", Goal(1), title="packets per message"),
            Arm(
                "time",
                Goal("10 ms"),
                title="time for all messages",
                metric=metric.exchange_time(),
                tolerance=AtMost(because="a single delayed ACK takes longer"),
            ),
        ),
        tolerance=Exactly(because="packets are counted"),
    )


EXERCISE = Exercise(
    minutes=20,
    goals=(
        "to explain how Nagle's rule and delayed ACKs wait for each other",
        "to find a wait in a capture, and to say who waits for what",
        "to choose how a program should write its messages",
    ),
    reading=("RFC 9293, section 3.7.4 (Nagle)", "RFC 9293, section 3.8.6.3 (delayed ACKs)", "tcp(7): TCP_NODELAY"),
    steps=(
        Predict(
            name="stall",
            asks="How many seconds do 100 such messages take?",
            unit="s",
            experiment=stall,
            hints=(
                Hint("Each message waits, not each write: count the delayed ACKs of one message.", 10),
                Hint("All 100 messages wait, one after the other.", 0.0, 0.05),
                Hint("Each message waits for one delayed ACK of 40 ms."),
            ),
        ),
        Choose(
            name="why",
            asks="What ends the wait in each message?",
            options={
                "a": "The sender's retransmission timer: the first packet was lost.",
                "b": "The 15th write, which fills a packet.",
                "c": "The receiver's timer for delayed ACKs: its ACK lets the sender send the rest.",
                "d": "The receiver's answer, which carries the ACK.",
            },
            remarks={
                "a": "No packet in the capture comes twice.",
                "b": "15 writes of 2 bytes are 30 bytes. A packet here holds thousands.",
                "c": "40 ms after the first 2 bytes an ACK comes alone, and the other 28 bytes follow at once.",
                "d": "The receiver cannot answer yet: it has 2 of 30 bytes.",
            },
            digest="f42dc4740a83c4e5f140012039aa458572a01783e71bb38cda56c9fd94dfead7",
        ),
        Predict(
            name="nodelay",
            asks="TCP_NODELAY turns Nagle's rule off. How many packets with data does a message then take?",
            experiment=packets,
            hints=(
                Hint("That takes a kernel that holds writes back. Without Nagle's rule it does not.", 0.0, 0.1),
                Hint("That is with Nagle's rule. Without it nothing is held back.", 0.1, 0.2),
                Hint("How many times does the program write?"),
            ),
        ),
        Reach(
            name="way",
            asks="Which way of writing takes one packet a message, and no wait?",
            options=WAYS,
            experiment=quick,
            hints={
                "packets": "A packet leaves for each write that the kernel may send. Let it see the message whole.",
                "time": "Something still waits for a delayed ACK.",
            },
        ),
    ),
)
