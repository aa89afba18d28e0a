"""Beyond two minutes, the longest that an RTO can be, each segment is sent again though none was lost.

RFC 6298, 2.5, allows an upper bound of 60 s or more; Linux has 120 s. Mars is at least three light minutes away.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Arm, Demonstrated, Exactly, Experiment, Implied, Point, Sweep, Variant
from lab.units import Duration, Size
from lab.workload import RequestResponse

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
    arms=(
        Arm("one-request"),
        Arm(
            "fine-timer-wheel",
            kernel=Variant(patches=("fine-timer-wheel.patch",)),
            explains=Demonstrated(
                "three times two minutes are 360 s, and the kernel's timer wheel lets a timer of 120 s be up to 4.1 s "
                "late: with finer steps the third comes before the answer, which takes 364 s"
            ),
        ),
    ),
    sweep=Sweep("one way", (away("50 s", 0), away("100 s", 1), away("182 s", 3), away("500 s", 8))),
    tolerance=Exactly(because="it is a count"),
    expect="not reproduced",
)
