"""Ping-pong traffic, as of telnet, is acknowledged at once; otherwise an ACK may wait for up to 500 ms.

The third condition in __tcp_ack_snd_check, tcp_in_quickack_mode(), as the article reads it.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Absolute, Arm, Experiment
from lab.units import Duration, Size
from lab.workload import RequestResponse

ANSWERED = RequestResponse(interval=Duration.of("100 ms"), response=Size(1), think=Duration.of("20 ms"))
# Nobody reads, so that nothing but the timer sends ACKs; the messages come at all phases of it.
UNREAD = RequestResponse(count=56, interval=Duration.of("100050 us"), asleep=Duration.of("8 s"))
FAR = RequestResponse(count=40, interval=Duration.of("401 ms"), asleep=Duration.of("20 s"))

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=ANSWERED,
    probes=(Capture(node="receiver"),),
    metric=metric.ack_delay("mean", skip=1),
    prediction=model.ack_after_answer,
    arms=(
        Arm("ping-pong", reported="0 s"),
        Arm(
            "no-ping-pong-mode",
            reported="0 s",
            sysctls={"net.ipv4.tcp_pingpong_thresh": 255},
            explains="ping-pong mode is what makes ACKs wait, for the answer to carry them; without it none does",
        ),
        Arm(
            "unread",
            reported="500 ms",
            workload=UNREAD,
            metric=metric.ack_delay("mean", skip=16),
            prediction=model.ack_delayed_mean,
        ),
        Arm(
            "unread-far-away",
            reported="500 ms",
            links={"path": {"delay": "250 ms"}},
            workload=FAR,
            metric=metric.ack_delay("max"),
            prediction=model.ack_delayed_longest,
        ),
        Arm(
            "first-segments",
            workload=UNREAD,
            metric=metric.acks_at_once(),
            prediction=model.quick_acks,
            explains="the mode that the function is named after: a connection's first ACKs are all sent at once",
        ),
    ),
    tolerance=Absolute("1 ms", because="at once is within a tick of the kernel's clock"),
    expect="not reproduced",
)
