"""A SYN whose answer takes longer than a second is sent again after 1 s, 3 s, 7 s, 15 s and so on.

RFC 6298, 2.1 and 5.5: an initial RTO of one second, and twice that for each time that it expires.
"""

from lab import (
    Arm,
    Bulk,
    Demonstrated,
    Duration,
    Exactly,
    Experiment,
    Implied,
    Netstat,
    Point,
    Size,
    Sweep,
    metric,
    model,
)


def away(delay: str, again: int) -> Point:
    """A peer so far away, and how often its SYN is sent again before it has answered, by the RFC."""
    return Point(
        delay, Implied(again, "so many of 1, 3, 7, 15, 31 s go before the answer"), links={"path": {"delay": delay}}
    )


DOUBLED = "with tcp_syn_linear_timeouts at 0 each time-out is twice the one before, as the RFC has it"


EXPERIMENT = Experiment(
    topology="deep-space",
    workload=Bulk(size=Size(1448), duration=Duration.of("60 min")),
    probes=(Netstat(node="sender"),),
    metric=metric.counted("TcpExt.TCPSynRetrans"),
    prediction=model.syn_retransmissions,
    arms=(
        Arm("defaults"),
        Arm(
            "no-linear-timeouts",
            sysctls={"net.ipv4.tcp_syn_linear_timeouts": 0},
            explains=Demonstrated(f"Linux sends a SYN four times more before it begins to double: {DOUBLED}"),
        ),
    ),
    sweep=Sweep("one way", (away("250 ms", 0), away("1280 ms", 1), away("15 s", 4), away("29 s", 5))),
    tolerance=Exactly(because="it is a count"),
    expect="not reproduced",
)
