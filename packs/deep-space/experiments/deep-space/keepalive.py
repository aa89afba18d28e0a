"""A live peer 22 minutes away is taken for dead: keepalive waits for 11 minutes and 15 s, after two hours of silence.

The kernel's documentation: probes after two hours, nine of them, 75 s apart; no answer can be there by then.
"""

from lab import Arm, Demonstrated, Duration, Experiment, Implied, Program, Variant, Within, metric, model

SUM = Implied("7875 s", "7200 s, and 9 × 75 s")

EXPERIMENT = Experiment(
    topology="deep-space",
    sysctls={f"net.ipv4.{name}": 100 for name in ("tcp_syn_retries", "tcp_synack_retries", "tcp_retries2")},
    workload=Program(
        argv=("python3", "{files}/_idle.py", "{server}", "{port}"),
        service=("python3", "{files}/_listen.py", "{port}"),
        files=("_idle.py", "_listen.py"),
        limit=Duration.of("600 min"),
    ),
    metric=metric.program_json("seconds", unit="s"),
    prediction=model.keepalive_timeout,
    arms=(
        Arm("defaults", SUM),
        Arm(
            "fine-timer-wheel",
            SUM,
            kernel=Variant(patches=("fine-timer-wheel.patch",)),
            explains=Demonstrated(
                "the sums are of what the timers were set to, and the kernel's timer wheel lets one of two hours be up "
                "to 262 s late: with finer steps they are right"
            ),
        ),
    ),
    tolerance=Within(0.001, because="a timer is late by its tick"),
    expect="not reproduced",
)
