"""A peer that is gone is noticed after 924.6 s, and with tcp_retries2=8 after little more than 100 s.

The kernel's documentation of tcp_retries2; RFC 1122, section 4.2.3.5, wants 100 s at least.
"""

from lab import Arm, Duration, Experiment, Implied, Prediction, Program, Reported, Value, Within, metric, model, replay

RTO_MIN, RTO_MAX = 0.2, 120.0  # seconds


def gives_up(retries: int) -> Prediction:
    """The law of when a sender gives up, with so many retries."""

    @replay(
        formula="the first RTO past Σ min(0.2 s × 2^k, 120 s), k = 0 to retries, with the wheel's lateness",
        source="RFC 6298, 5.5; tcp_retries2; calc_wheel_index()",
    )
    def timeout(scenario: model.Scenario) -> Value:
        """The sysctl makes a time of an RTO of 0.2 s, which the path's own, with the round trip in it, passes later."""
        allowed = sum(min(RTO_MIN * 2**number, RTO_MAX) for number in range(retries + 1))
        rto = RTO_MIN + model.base_rtt(scenario).number
        timers = [rto]  # until the first retransmission, from which the time counts
        while sum(timers[1:]) < allowed:
            timers.append(min(2 * timers[-1], RTO_MAX))
        return model.timed(scenario, timers)

    return timeout


EXPERIMENT = Experiment(
    topology="severed",
    workload=Program(
        argv=("python3", "{files}/_send_late.py", "{server}", "{port}"),
        service=("python3", "{files}/_accept.py", "{port}"),
        files=("_send_late.py", "_accept.py"),
        limit=Duration.of("60 min"),
    ),
    metric=metric.program_json("seconds", unit="s"),
    arms=(
        Arm("defaults", Reported("924.6 s", "timeout of 924.6 seconds"), prediction=gives_up(15)),
        Arm(
            "tcp_retries2-8",
            Implied("102.2 s", "0.2 s and twice that, nine times: 0.2 s × 511"),
            sysctls={"net.ipv4.tcp_retries2": 8},
            prediction=gives_up(8),
        ),
    ),
    tolerance=Within(
        0.1, because="the documentation calls it hypothetical: an RTO is the path's own, and the last one ends"
    ),
    accuracy=Within(0.01, because="a tail loss probe puts the first RTO off by a fifth of a second"),
)
