"""Twelve bytes in every header."""

from lab import Arm, AtLeast, Bulk, Capture, Duration, Experiment, Within, metric
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

GIGABIT = "../../../topologies/symmetric-1g.yaml"
SHORT = Bulk(duration=Duration.of("200 ms"))


def goodput(said: Said, timestamps: int) -> Experiment:
    """What a gigabit link carries, with the option or without."""
    return Experiment(
        topology=GIGABIT,
        sysctls={"net.ipv4.tcp_timestamps": timestamps},
        workload=SHORT,
        probes=(Capture(node="sender"),),
        metric=metric.bulk_goodput(),
        arms=(Arm("said", said, title=f"{'with' if timestamps else 'without'} timestamps"),),
        tolerance=Within(0.001, because="the formula leaves nothing out but the first few packets"),
    )


def cost(mtu: Answer) -> Experiment:
    """What of the goodput is left with timestamps, in packets of that size."""
    return Experiment(
        topology=GIGABIT,
        links={"path": {"mtu": f"{mtu} B"}},
        workload=SHORT,
        probes=(Capture(node="sender"),),
        metric=metric.bulk_goodput(),
        arms=(
            Arm("without", sysctls={"net.ipv4.tcp_timestamps": 0}),
            # The bound itself, 6041, is right: the handshake takes 5 in 100 million of 200 ms; the formula has none.
            Arm(
                "share-left",
                Goal(0.9979998),
                title="goodput with timestamps over goodput without",
                relative_to="without",
            ),
        ),
        tolerance=AtLeast(because="that is the goal"),
    )


EXERCISE = Exercise(
    minutes=20,
    goals=(
        "to name every byte that a frame of TCP data has on the wire",
        "to predict goodput from the rate and the headers, before measuring it",
        "to tell what a fixed cost per packet is in packets of another size",
    ),
    reading=("RFC 9293, section 3.1 (the header)", "RFC 7323, section 3 (timestamps)"),
    steps=(
        Predict(
            name="with-timestamps",
            asks="How many Mbit/s of payload does a gigabit link carry, with timestamps?",
            unit="Mbit/s",
            experiment=lambda said: goodput(said, 1),
            hints=(
                Hint("Look at the capture below: how many bytes of options has each header?", 1.006, 1.011),
                Hint("On the wire a packet has 38 bytes around it that no header shows.", 1.011, 1.035),
                Hint("A link of 1000 Mbit/s also carries headers. Divide payload by what is on the wire.", 1.035),
                Hint("Is something counted twice? Only the payload goes on top of the fraction.", 0.0, 1.0),
            ),
        ),
        Predict(
            name="without-timestamps",
            asks="And without timestamps?",
            unit="Mbit/s",
            experiment=lambda said: goodput(said, 0),
            hints=(
                Hint("The 12 bytes become payload; the packet stays as long as it was.", 0.985, 0.9985),
                Hint("The frame on the wire has 1538 bytes, as before.", 1.0015),
            ),
        ),
        Choose(
            name="why",
            asks="Some of the 1000 Mbit/s do not arrive as payload. Where are they?",
            options={
                "a": "The receiver's buffer is too small, so the sender pauses.",
                "b": "They are headers, checksums and gaps around the payload of each packet.",
                "c": "They are ACKs, which share the link with the data.",
                "d": "Some packets are lost and sent again.",
            },
            remarks={
                "a": "The capture shows no pause: a frame leaves every 12.3 microseconds.",
                "b": "90 of 1538 bytes are not payload, in every packet, and so at every rate.",
                "c": "ACKs go the other way. An Ethernet link carries both directions at once.",
                "d": "Count the data segments in the capture: none of them comes twice.",
            },
            digest="69d6d7e9c9eb8e5cef01910819736805bb50b0a46e8ce50ae286a7fa1cf4e07e",
        ),
        Reach(
            name="larger-packets",
            asks="With which MTU do timestamps cost less than 0.2 % of the goodput?",
            unit="bytes",
            low=576,
            high=60_000,
            experiment=cost,
            hints={"share-left": "The option takes 12 of the MTU - 40 bytes that could be payload. Solve for the MTU."},
        ),
    ),
)
