"""Beyond two minutes, the longest that an RTO can be, each segment is sent again though none was lost.

RFC 6298, 2.5, allows an upper bound of 60 s or more; Linux has 120 s, and a timer of that may be an eighth late. Round
trips here are so far from multiples of 120 s that no such lateness changes a count. Mars is three light minutes away.
"""

from lab import Arm, Capture, Duration, Exactly, Experiment, Implied, Point, RequestResponse, Size, Sweep, metric, model

PATIENT = {f"net.ipv4.{name}": 60 for name in ("tcp_syn_retries", "tcp_synack_retries", "tcp_retries2")}


def away(delay: str, again: int) -> Point:
    """A peer so far away, and how often 120 s go into the time that its answer takes."""
    return Point(delay, Implied(again, "so many times 120 s before the answer"), links={"path": {"delay": delay}})


EXPERIMENT = Experiment(
    topology="deep-space",
    sysctls=PATIENT,
    workload=RequestResponse(
        count=1, interval=Duration.of("360 min"), asleep=Duration.of("300 min"), request=Size(1000), response=Size(1)
    ),
    probes=(Capture(node="sender"),),
    metric=metric.retransmits("sender"),
    prediction=model.needless_retransmissions,
    arms=(Arm("one-request"),),
    sweep=Sweep("one way", (away("50 s", 0), away("100 s", 1), away("220 s", 3), away("350 s", 5))),
    tolerance=Exactly(because="it is a count"),
)
