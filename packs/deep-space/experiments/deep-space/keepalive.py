"""A live peer 22 minutes away is taken for dead: keepalive waits for 11 minutes and 15 s, after two hours of silence.

The kernel's documentation: probes after two hours, nine of them, 75 s apart; no answer can be there by then.
"""

from lab import metric, model
from lab.spec.experiment import Arm, Experiment, Implied, Within
from lab.units import Duration
from lab.workload import Program

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
    arms=(Arm("defaults", Implied("7875 s", "7200 s, and 9 × 75 s")),),
    tolerance=Within(0.001, because="a timer is late by its tick"),
    unexplained="the sums are of what the timers were set to. The kernel's timer wheel lets one of two hours be up to "
    "262 s late, and one of 75 s up to 4.1 s (calc_wheel_index()): 183 s are missing in all. No arm here "
    "has finer timers, which would show it.",
    expect="not reproduced",
)
