"""With tcp_mtu_probing=1, a transfer gets through a path that swallows large packets and says nothing.

RFC 4821: the sender lowers its segments when they stay unanswered. Here the sender's firewall drops the router's ICMP.
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


def arrived(probing: bool) -> Prediction:
    """The law of whether the transfer gets through, with the sysctl or without."""

    @replay(formula="1 with probing, else 0", source="RFC 2923, 2.1: black holes; RFC 4821; tcp_mtu_probing()")
    def all_of_it(scenario: model.Scenario) -> Value:
        """It holds where a link's MTU is less than the sender's, and more than the 1024 B that probing begins with."""
        assert any(hop.mtu < scenario.forward[0].mtu for hop in scenario.forward)
        return Value(int(probing), "1")

    return all_of_it


EXPERIMENT = Experiment(
    topology="narrow-tunnel",
    workload=Program(
        argv=("python3", "{files}/_send_into_hole.py", "{server}", "{port}"),
        service=("python3", "{files}/_take_all.py", "{port}"),
        files=("_send_into_hole.py", "_take_all.py"),
        limit=Duration.of("200 s"),
    ),
    metric=metric.program_json("arrived"),
    arms=(
        Arm(
            "tcp_mtu_probing-1",
            Implied(1, "all of a megabyte within a minute"),
            sysctls={"net.ipv4.tcp_mtu_probing": 1},
            prediction=arrived(probing=True),
        ),
        Arm(
            "defaults",
            Implied(0, "nothing within a minute"),
            prediction=arrived(probing=False),
            explains=Demonstrated("without it, the same transfer never gets through"),
        ),
    ),
    tolerance=Exactly(because="it is there or not"),
)
