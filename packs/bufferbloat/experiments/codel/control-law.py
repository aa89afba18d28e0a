"""While a queue stands, CoDel drops again after its interval over the square root of the drops so far.

RFC 8289, sections 5.4 and 5.5, with an interval of 100 ms. The sender here does not answer: 16 Mbit/s for a link of 10,
so that more comes in excess than the law drops in eight seconds, and the queue stands.
"""

from itertools import accumulate, count, takewhile

from lab import Absolute, Arm, Duration, Experiment, Implied, OnOff, QueueState, Rate, Within, metric, model


def after(seconds: int) -> Arm:
    """So many seconds after the first drop, that one with all later ones by the RFC's own root."""
    later = sum(1 for _ in takewhile(lambda at: at <= seconds, accumulate(0.1 / number**0.5 for number in count(1))))
    return Arm(
        f"{seconds}-s",
        Implied(1 + later, f"as many times as 100 ms / √n go into {seconds} s"),
        metric=metric.queue_drops_since_first("uplink", seconds),
        prediction=model.codel_drops(seconds),
    )


EXPERIMENT = Experiment(
    topology="home-uplink",
    links={"uplink": {"forward": {"queue": {"kind": "codel", "limit": 10000}}}},
    workload=OnOff(
        duration=Duration.of("10 s"), rate=Rate.of("16 Mbit/s"), on=Duration.of("10 s"), off=Duration(0), even=True
    ),
    probes=(QueueState(link="uplink", interval=Duration.of("1 ms")),),
    metric=metric.queue_drops("uplink"),
    arms=tuple(after(seconds) for seconds in (1, 2, 4, 8)),
    tolerance=Within(
        0.1, because="a tenth tells a square root from a constant rate or a linear one: those are off by 2"
    ),
    accuracy=Absolute(1, because="the queue was looked at each millisecond: one drop may be on the other side"),
)
