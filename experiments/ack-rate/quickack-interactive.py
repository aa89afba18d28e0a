"""Ping-pong traffic, as of telnet, is acknowledged at once; otherwise an ACK may wait for up to 500 ms.

The third condition in __tcp_ack_snd_check, tcp_in_quickack_mode(), as the article reads it.
"""

from lab import (
    Above,
    Absolute,
    Arm,
    AtMost,
    Capture,
    Demonstrated,
    Duration,
    Experiment,
    Implied,
    Reported,
    RequestResponse,
    Size,
    metric,
    model,
)

ANSWERED = RequestResponse(interval=Duration.of("100 ms"), response=Size(1), think=Duration.of("20 ms"))
# Nobody reads, so that nothing but the timer sends ACKs; the messages come at all phases of it.
UNREAD = RequestResponse(count=56, interval=Duration.of("100050 us"), asleep=Duration.of("8 s"))
FAR = RequestResponse(count=40, interval=Duration.of("401 ms"), asleep=Duration.of("20 s"))

AT_ONCE = Implied("0 s", "'an ACK packet must be send immediately'", part="ping-pong traffic is acknowledged at once")
WAITS = Implied("0 s", "'the kernel would wait'", part="otherwise it waits, up to 500 ms")
BOUND = Reported("500 ms", "the kernel would wait up to 500ms before sending an ACK message", part=WAITS.part)
TICK = "at once is within a tick of the kernel's clock"
UP_TO = AtMost(because="'up to' is a bound")

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=ANSWERED,
    probes=(Capture(node="receiver"),),
    metric=metric.ack_delay("mean", skip=1),
    arms=(
        Arm("ping-pong", AT_ONCE, prediction=model.ack_after_answer, title="ping-pong traffic"),
        Arm(
            "no-ping-pong-mode",
            AT_ONCE,
            prediction=model.ack_after_answer,
            sysctls={"net.ipv4.tcp_pingpong_thresh": 255},
            explains=Demonstrated("ping-pong mode makes ACKs wait, for the answer to carry them; without it none does"),
        ),
        Arm(
            "unread",
            WAITS,
            workload=UNREAD,
            metric=metric.ack_delay("mean", skip=16),
            prediction=model.ack_delayed_mean,
            tolerance=Above("1 ms", because=TICK),
            title="data that nobody reads, mean",
        ),
        Arm(
            "unread-longest",
            BOUND,
            workload=UNREAD,
            metric=metric.ack_delay("max", skip=16),
            tolerance=UP_TO,
            title="data that nobody reads, longest",
        ),
        Arm(
            "unread-far-away",
            BOUND,
            links={"path": {"delay": "250 ms"}},
            workload=FAR,
            metric=metric.ack_delay("max"),
            prediction=model.ack_delayed_longest,
            tolerance=UP_TO,
            title="the same over 500 ms",
        ),
        Arm(
            "first-segments",
            workload=UNREAD,
            metric=metric.acks_at_once(),
            prediction=model.quick_acks,
            explains=Demonstrated(
                "the mode that the function is named after: a connection's first ACKs all go at once"
            ),
        ),
    ),
    tolerance=Absolute("1 ms", because=TICK),
    expect="partly",
)
