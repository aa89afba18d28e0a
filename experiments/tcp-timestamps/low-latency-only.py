"""Timestamps should be turned off in low-latency networks only.

The article's summary, without figure or reason. Two readings of it are shown: over a long round trip on which packets
overtake each other, a flow without timestamps is slower (high-off), or there are hosts with which it is (alone-off).
"""

from lab import (
    Absolute,
    Arm,
    Below,
    Bulk,
    Demonstrated,
    Duration,
    Experiment,
    Implied,
    Netstat,
    Refutes,
    TcpInfo,
    Untestable,
    metric,
    model,
)

OFF, NO_DSACK = {"net.ipv4.tcp_timestamps": 0}, {"net.ipv4.tcp_dsack": 0}
GAIN = Implied(1.01, "the text's 'increased bandwidth by ~1%'")
SLOWER = Implied(1, "the goodput with timestamps, if turning them off there is bad")
WORSE = Below(0.005, because="it says worse, and not how much: less than half a percent is no reason for a warning")
SHORT = Demonstrated("over a short round trip there is the gain that the headers give")
LONG = Refutes(
    "read as 'a long path is enough': D-SACK tells the sender what was late, and the flow is as fast as ever"
)


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
    samples=10,
    arms=(
        Arm("low-on", links=LOW, title="0.1 ms"),
        Arm("low-off", GAIN, SHORT, links=LOW, sysctls=OFF, relative_to="low-on", title="0.1 ms, no timestamps"),
        Arm("middle-on", links=MIDDLE, title="10 ms"),
        Arm(
            "middle-off",
            SLOWER,
            LONG,
            links=MIDDLE,
            sysctls=OFF,
            relative_to="middle-on",
            tolerance=WORSE,
            title="10 ms, no timestamps",
        ),
        Arm("high-on", links=HIGH, title="100 ms"),
        Arm(
            "high-off",
            SLOWER,
            LONG,
            links=HIGH,
            sysctls=OFF,
            relative_to="high-on",
            tolerance=WORSE,
            title="100 ms, no timestamps",
        ),
        Arm("alone-on", links=HIGH, sysctls=NO_DSACK, title="no D-SACK"),
        Arm(
            "alone-off",
            SLOWER,
            Demonstrated(
                "read as 'there are such hosts': where a receiver sends no D-SACK, timestamps alone tell what was late "
                "from what was lost"
            ),
            links=HIGH,
            sysctls=NO_DSACK | OFF,
            relative_to="alone-on",
            tolerance=WORSE,
            title="no D-SACK, no timestamps",
        ),
        Arm("loss-on", links=LOSSY, title="loss"),
        Arm("loss-off", links=LOSSY, sysctls=OFF, relative_to="loss-on", title="loss, no timestamps"),
    ),
    tolerance=Absolute(0.005, because="the article says about 1 %: from half a percent to one and a half"),
    untestable=(
        Untestable(
            "only in low latency networks",
            because="it is advice: it names no quantity that would suffer, nor by how much, nor from which latency on",
        ),
    ),
    unexplained="PAWS, which timestamps are needed for where sequence numbers wrap within a segment's lifetime (3.6 s "
    "at 10 Gbit/s), speaks against the advice on such a link whatever the latency. No arm here shows it.",
    expect="not testable as stated",
)
