"""What limits this transfer."""

from lab import Arm, AtLeast, Bulk, Capture, Duration, Experiment, Size, Within, metric
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

GIGABIT = "../../../topologies/symmetric-1g.yaml"
GROWN = metric.capture_goodput(start=1, end=3)  # once the windows have grown
SMALL, LARGE = 200_000, 4_000_000  # bytes of buffer
CHANGES = ("nothing", "receive-buffer", "send-buffer", "link", "program")


def transfer(arm: Arm, change: Answer, rmem: int | None = None, effort: str = "0 s") -> Experiment:
    """A transfer of 3 s over 50 ms, whose program computes so long for each block, with one thing changed."""
    sizes = {"rmem": LARGE if change == "receive-buffer" else rmem, "wmem": LARGE if change == "send-buffer" else None}
    return Experiment(
        topology=GIGABIT,
        links={"path": {"rate": "200 Mbit/s" if change == "link" else "100 Mbit/s", "delay": "25 ms"}},
        sysctls={f"net.ipv4.tcp_{name}": f"4096 {min(size, 131072)} {size}" for name, size in sizes.items() if size},
        workload=Bulk(
            duration=Duration.of("3 s"),
            block=Size.of("256 KiB"),
            effort=Duration.of("10 ms" if change == "program" and effort != "0 s" else effort),
        ),
        probes=(Capture(node="sender"),),
        metric=GROWN,
        arms=(arm,),
        tolerance=AtLeast(because="that is the goal"),
    )


def twice(said: Said) -> Experiment:
    """The first transfer, with a receive buffer of twice the size."""
    arm = Arm(
        "said",
        said,
        title="twice the receive buffer",
        tolerance=Within(0.1, because="a sender gathers segments before it sends: the window has gaps"),
    )
    return transfer(arm, "nothing", rmem=2 * SMALL)


FASTER = Arm("goodput", Goal("60 Mbit/s"))
EXERCISE = Exercise(
    minutes=20,
    goals=(
        "to find what limits a transfer in a capture, with `lab explain`",
        "to tell three limits apart: the receive window, the program and the link",
        "to compute what undoing a limit is worth",
    ),
    reading=(
        "docs/explain.md (how it finds limits)",
        "RFC 4898 (what the kernel counts)",
        "tcp(7): tcp_rmem",
    ),
    steps=(
        Reach(
            name="first",
            asks="Which change brings the first transfer to 60 Mbit/s?",
            options=CHANGES,
            experiment=lambda change: transfer(FASTER, change, rmem=SMALL),
            hints={"goodput": "Look at seen.limits(): which limit takes most of the time?"},
        ),
        Choose(
            name="next",
            asks="After that change, which further one would make the first transfer faster?",
            options={
                "a": "A larger receive buffer still.",
                "b": "A larger send buffer.",
                "c": "A faster link.",
                "d": "None: 100 Mbit/s is all that TCP can carry over 50 ms.",
            },
            remarks={
                "a": "The window is no longer the limit. A larger one would only let a longer queue stand.",
                "b": "The send buffer holds more than the path and its queue.",
                "c": "The link's rate is used in full, and a queue stands before it.",
                "d": "Nothing of TCP is at its end: windows can be a thousand times as large.",
            },
            digest="5bac07f05425f7fbaec2fbf979419ff3ffc41d9606f72b44b4e30a68ee585247",
        ),
        Predict(
            name="twice",
            asks="The first transfer again, with a receive buffer of 400,000 bytes. How many Mbit/s does it carry?",
            unit="Mbit/s",
            experiment=twice,
            hints=(
                Hint("That is the link's rate. Does twice the window fill it?", 2.0, 2.5),
                Hint(
                    "That is what the first transfer had. What does seen.limits() say that its window carries?",
                    0.4,
                    0.6,
                ),
                Hint("Twice the window carries twice as much, as long as the window is the limit."),
            ),
        ),
        Reach(
            name="second",
            asks="Which change brings the second transfer to 60 Mbit/s?",
            options=CHANGES,
            experiment=lambda change: transfer(FASTER, change, effort="100 ms"),
            hints={
                "goodput": "Look at seen.limits(), and at the figure: who has nothing to send while the window is open?"
            },
        ),
    ),
)
