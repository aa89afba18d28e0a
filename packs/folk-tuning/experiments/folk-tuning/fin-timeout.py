"""With tcp_fin_timeout at 15 s, a closed connection is in TIME_WAIT for 15 s.

Guides lower it so that servers do not run out of ports. The time of TIME_WAIT is a constant, 60 s: TCP_TIMEWAIT_LEN.
"""

from lab import Arm, Duration, Experiment, Implied, Program, Value, Within, metric, model, replay


@replay(formula="60 s", source="TCP_TIMEWAIT_LEN: RFC 9293, 3.6.1, has twice the maximum segment lifetime")
def time_wait(scenario: model.Scenario) -> Value:
    """No sysctl changes how long the end that closes first waits; the timer is up to 4 s late (timer wheel)."""
    return model.timed(scenario, [60])


EXPERIMENT = Experiment(
    topology="delay-10ms",
    workload=Program(
        argv=("python3", "{files}/_time_wait.py", "{server}", "{port}"),
        service=("python3", "{files}/_accept.py", "{port}"),
        files=("_time_wait.py", "_accept.py"),
        limit=Duration.of("200 s"),
    ),
    metric=metric.program_json("seconds", unit="s"),
    prediction=time_wait,
    arms=(
        Arm("defaults"),
        Arm("tcp_fin_timeout-15", Implied("15 s", "the timeout"), sysctls={"net.ipv4.tcp_fin_timeout": 15}),
    ),
    tolerance=Within(0.1, because="the kernel's timers of a minute are up to 4 s late (timer wheel)"),
    accuracy=Within(0.01, because="the program looks at its sockets a few times a second"),
    unexplained="the sysctl is for another state, FIN_WAIT_2 of a connection that no program has any more",
    expect="not reproduced",
)
