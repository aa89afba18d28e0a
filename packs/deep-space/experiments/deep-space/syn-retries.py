"""A SYN whose answer takes longer than a second is sent again after 1 s, 3 s, 7 s, 15 s and so on.

RFC 6298, 2.1 and 5.5: an initial RTO of one second, and twice that for each time that it expires.
"""

from lab import metric, model
from lab.probe import Netstat
from lab.spec.experiment import Arm, Exactly, Experiment, Implied, Point, Sweep
from lab.units import Duration, Size
from lab.workload import Bulk


def away(delay: str, again: int) -> Point:
    """A peer so far away, and how often its SYN is sent again before it has answered, by the RFC."""
    return Point(
        delay, Implied(again, "so many of 1, 3, 7, 15, 31 s go before the answer"), links={"path": {"delay": delay}}
    )


EXPERIMENT = Experiment(
    topology="deep-space",
    workload=Bulk(size=Size(1448), duration=Duration.of("60 min")),
    probes=(Netstat(node="sender"),),
    metric=metric.counted("TcpExt.TCPSynRetrans"),
    prediction=model.syn_retransmissions,
    arms=(Arm("defaults"),),
    sweep=Sweep("one way", (away("250 ms", 0), away("1280 ms", 1), away("15 s", 4), away("29 s", 5))),
    tolerance=Exactly(because="it is a count"),
    unexplained="the RFC's times are those of a first SYN alone",
    expect="not reproduced",
)
