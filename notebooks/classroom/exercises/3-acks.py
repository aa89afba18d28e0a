"""Who acknowledges what."""

from lab import Arm, AtLeast, AtMost, Bulk, Capture, Duration, Experiment, Record, Value, Within, metric
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

GIGABIT = "../../../topologies/symmetric-1g.yaml"
SHORT = Bulk(duration=Duration.of("200 ms"))
# A window that stays as it is: while it grows, Linux acknowledges every segment.
STEADY: dict[str, str | int] = {"net.ipv4.tcp_rmem": "4096 6291456 6291456", "net.ipv4.tcp_moderate_rcvbuf": 0}
NOTHING = "it should not join segments"


def acks_a_second(record: Record) -> Value:
    """Count the receiver's ACKs in 150 ms, and scale that to a second."""
    connection = metric.connection_of(record, "receiver")
    since = (connection.back.time_ns - connection.start_ns) / 1e9
    counted = connection.back.pure_ack & (since >= 0.05) & (since < 0.2)
    return Value(int(counted.sum()) / 0.15, "1")


def counted(said: Said) -> Experiment:
    """The ACKs of a gigabit link's data."""
    return Experiment(
        topology=GIGABIT,
        sysctls=STEADY,
        workload=SHORT,
        probes=(Capture(node="receiver"),),
        metric=acks_a_second,
        arms=(Arm("said", said, title="no offloads"),),
        tolerance=Within(0.01, because="the formula leaves nothing out"),
    )


def waiting(microseconds: int) -> dict[str, dict[str, object]]:
    """GRO, with so long a wait."""
    return {"receiver": {"offloads": {"gro": True}, "coalescing": f"{microseconds} us"}}


def joined(wait: Answer) -> Experiment:
    """Whether that is the shortest wait that joins segments."""
    return Experiment(
        topology=GIGABIT,
        links={"path": {"shaper": "nic"}},  # the sender's card is the bottleneck: no gaps
        sysctls=STEADY,
        workload=SHORT,
        probes=(Capture(node="receiver"),),
        metric=metric.segments_per_ack(start=0.05, end=0.2),
        arms=(
            Arm(
                "your-wait",
                Goal(10),
                title="segments for an ACK with your wait",
                hosts=waiting(int(wait)),
            ),
            Arm(
                "a-microsecond-less",
                Goal(3),
                title="segments for an ACK with a microsecond less",
                hosts=waiting(int(wait) - 1),
                tolerance=AtMost(because=NOTHING),
            ),
        ),
        tolerance=AtLeast(because="ten segments for an ACK, and more, is what GRO is for"),
    )


EXERCISE = Exercise(
    minutes=20,
    goals=(
        "to compute how many ACKs a transfer causes",
        "to say what generic receive offload (GRO) and interrupt coalescing do to ACKs",
        "to compute how long a frame takes on a link",
    ),
    reading=("RFC 5681, section 4.2 (when to acknowledge)", "RFC 9293, section 3.8.6.3 (delayed ACKs)"),
    steps=(
        Predict(
            name="acks",
            asks="How many ACKs a second does a receiver send that takes in data at 941.5 Mbit/s?",
            unit="",
            experiment=counted,
            hints=(
                Hint("That is every segment. A receiver waits for the second one.", 1.8, 2.2),
                Hint("A segment has 1448 bytes of payload, and a byte 8 bits.", 2.2),
                Hint("Are there bits where bytes should be, or the other way round?", 0.0, 0.2),
                Hint("Payload a second, over payload of a segment, over segments of an ACK."),
            ),
        ),
        Choose(
            name="why",
            asks="With GRO there are far fewer ACKs of the same data. Why?",
            options={
                "a": "TCP counts what GRO hands it: one large segment, of ten on the wire, brings one ACK.",
                "b": "The card answers for TCP, and the kernel never sees the data.",
                "c": "ACKs are lost, because the receiver is too busy to send them.",
                "d": "The sender asks for fewer ACKs with an option in the SYN.",
            },
            remarks={
                "a": "Segments are joined below TCP. TCP's own rule has not changed.",
                "b": "All data goes through the kernel: it has to reach the program.",
                "c": "A lost ACK would be in the receiver's capture. There are fewer of them there.",
                "d": "Look at the SYN in the capture: MSS, SACK, timestamps, window scale, and no more.",
            },
            digest="cd8f616a5e03a25da6efb4814d06233f7b7b2ffb3e30acb97dd8871cafb2420d",
        ),
        Reach(
            name="wait",
            asks="What is the shortest wait, in whole microseconds, with which GRO joins segments at 1 Gbit/s?",
            unit="µs",
            low=2,
            high=200,
            experiment=joined,
            hints={
                "your-wait": "In that time there is never a second frame. How long is one of 1538 bytes on the wire?",
                "a-microsecond-less": "A microsecond less works as well, so a shorter wait does. "
                "How long is a frame on the wire?",
            },
        ),
    ),
)
