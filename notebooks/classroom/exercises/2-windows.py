"""A long path needs a large window."""

from lab import Arm, AtLeast, AtMost, Bulk, Capture, Duration, Experiment, Record, Size, Value, Within, metric
from lab.ext.course.exercise import Answer, Choose, Exercise, Goal, Hint, Predict, Reach, Said

GIGABIT = "../../../topologies/symmetric-1g.yaml"
PATH = {"path": {"rate": "100 Mbit/s", "delay": "20 ms"}}
AT_ONCE = Bulk(duration=Duration.of("3 s"), watermark=Size(1))  # its reader takes each byte as it comes
GROWN = metric.capture_goodput(start=1, end=3)  # once the window has grown


def buffered(rmem: Answer) -> dict[str, str | int]:
    """The receiver's buffer, which may not grow beyond that."""
    return {"net.ipv4.tcp_rmem": f"4096 {rmem} {rmem}"}


def largest_window(record: Record) -> Value:
    """Measure the largest window that the receiver offers: of some buffers it still grows a little at the end."""
    return Value(int(metric.connection_of(record, "sender").back.window.max()), "B")


def one_window(said: Said) -> Experiment:
    """What a buffer of 400,000 bytes carries over 40 ms."""
    return Experiment(
        topology=GIGABIT,
        links=PATH,
        sysctls=buffered(400_000),
        workload=AT_ONCE,
        probes=(Capture(node="sender"),),
        metric=GROWN,
        arms=(Arm("said", said, title="a buffer of 400,000 bytes"),),
        tolerance=Within(0.05, because="a sender gathers segments before it sends: the window has gaps"),
    )


def full(rmem: Answer) -> Experiment:
    """Whether the buffer fills the link, and is not far larger than it must be."""
    return Experiment(
        topology=GIGABIT,
        links=PATH,
        sysctls=buffered(rmem),
        workload=AT_ONCE,
        probes=(Capture(node="sender"),),
        metric=GROWN,
        arms=(
            Arm("goodput", Goal("93 Mbit/s"), tolerance=AtLeast(because="that is the goal")),
            Arm("window", Goal("600000 B"), metric=largest_window),
        ),
        tolerance=AtMost(because="more than that is waste"),
    )


EXERCISE = Exercise(
    minutes=25,
    goals=(
        "to compute goodput from window and round-trip time",
        "to compute the bandwidth-delay product, and the buffer that it takes",
        "to tell a transfer that its window limits from one that the link limits, in a capture",
    ),
    reading=("RFC 9293, section 3.8.6 (the window)", "RFC 7323, section 2 (window scale)"),
    steps=(
        Predict(
            name="one-window",
            asks="How many Mbit/s does a receive buffer of 400,000 bytes let through over 40 ms?",
            unit="Mbit/s",
            experiment=one_window,
            hints=(
                Hint("That is the link's rate. The sender stops when a window is in flight.", 1.8, 2.05),
                Hint("Not all of the buffer is window: 1448 of 2280 bytes of memory are payload.", 1.4, 1.8),
                Hint("The round trip is both ways: 2 x 20 ms.", 2.05, 4.5),
                Hint("The window is in bytes, goodput in bits.", 0.05, 0.2),
                Hint("One window goes in each round trip of 40 ms."),
            ),
        ),
        Choose(
            name="why",
            asks="The link is idle for much of the time. What would a link of 1 Gbit/s in its place change?",
            options={
                "a": "The goodput would be ten times as high.",
                "b": "The goodput would grow to twice as much, since the idle time would be used.",
                "c": "The goodput would fall: the receiver's buffer would overflow.",
                "d": "The sender would wait longer for each ACK, and the goodput would stay as it is.",
            },
            remarks={
                "a": "Ten times the rate needs ten times the window in flight. Who allows that?",
                "b": "The idle time is the wait for ACKs. A faster link does not bring it sooner.",
                "c": "The sender keeps to the window, so the buffer cannot overflow.",
                "d": "One window in a round trip is 50 Mbit/s on any link that is fast enough.",
            },
            digest="957f3d82befe70a2dbc0199300077d1ee17d1039f4d850bfcfb6cf7741edcda0",
        ),
        Reach(
            name="buffer",
            asks="Which receive buffer fills the link, with a window of 600,000 bytes at most?",
            unit="bytes",
            low=100_000,
            high=10_000_000,
            experiment=full,
            hints={
                "goodput": "The window has to hold rate x round trip, and a buffer is 2280 / 1448 times its window.",
                "window": "The link is full long before: divide the memory by 2280 / 1448 to see the window.",
            },
        ),
    ),
)
