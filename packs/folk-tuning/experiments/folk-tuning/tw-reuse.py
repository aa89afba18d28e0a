"""With tcp_tw_reuse, a client of one server does not run out of ports.

Fifty connections a second from a hundred ports, for twenty seconds: a port is in TIME_WAIT for a minute.
"""

from lab import (
    Arm,
    Demonstrated,
    Duration,
    Exactly,
    Experiment,
    Implied,
    Prediction,
    Program,
    Value,
    metric,
    model,
    replay,
)

ATTEMPTS, PORTS = 1000, 100


def connections(reuse: bool) -> Prediction:
    """The law of how many of the attempts get a port, with the sysctl or without."""

    @replay(formula="attempts with reuse after 1 s, else ports", source="tcp_twsk_unique(); TCP_TIMEWAIT_LEN; RFC 6191")
    def succeed(scenario: model.Scenario) -> Value:
        """It holds with timestamps, while a port is used again after more than a second and within a minute."""
        assert scenario.timestamps
        return Value(ATTEMPTS if reuse else PORTS, "1")

    return succeed


EXPERIMENT = Experiment(
    topology="delay-10ms",
    sysctls={"net.ipv4.ip_local_port_range": "40000 40099", "net.ipv4.tcp_tw_reuse": 0},
    workload=Program(
        argv=("python3", "{files}/_connect_often.py", "{server}", "{port}", str(ATTEMPTS)),
        service=("python3", "{files}/_accept.py", "{port}"),
        files=("_connect_often.py", "_accept.py"),
        limit=Duration.of("200 s"),
    ),
    metric=metric.program_json("connections"),
    arms=(
        Arm(
            "tcp_tw_reuse-1",
            Implied(ATTEMPTS, "each attempt has a port"),
            sysctls={"net.ipv4.tcp_tw_reuse": 1},
            prediction=connections(reuse=True),
        ),
        Arm(
            "tcp_tw_reuse-0",
            Implied(PORTS, "as many connections as ports"),
            prediction=connections(reuse=False),
            explains=Demonstrated("without it, each port can be used once in a minute"),
        ),
    ),
    tolerance=Exactly(because="it is a count"),
)
