"""Each path carries its part of the sum: half of the bytes, or ten thirteenths where it has 10 of 13 Mbit/s.

The cases of simult_flows.sh without delay. The kernel's scheduler gives data to the subflow that will have sent what it
holds soonest.
"""

from lab import Arm, Capture, Experiment, Implied, Program, Value, Within, law
from lab.ext.mptcp.share import path_share

RUN = ("python3", "{files}/_paths.py", "python3", "{files}/_transfer.py")


def carried(first: int, second: int, limit: int) -> Arm:
    """Paths of so many Mbit/s; the queue of the first holds so many frames."""

    @law(formula="rate / Σ rates", source="RFC 6182, 2.1; net/mptcp/protocol.c: mptcp_subflow_get_send()")
    def share(_: object) -> Value:
        """Both paths are always busy, whatever either carries."""
        return Value(first / (first + second), "1")

    return Arm(
        f"{first}-and-{second}",
        Implied(first / (first + second), "account for transfer size, aggregated link speed"),
        links={"first": {"rate": f"{first} Mbit/s", "limit": limit}, "second": {"rate": f"{second} Mbit/s"}},
        prediction=share,
    )


EXPERIMENT = Experiment(
    topology="two-paths",
    workload=Program(
        argv=(*RUN, "{server}", "{port}", "100"),
        service=(*RUN, "listen", "{port}", str(16 << 20)),
        files=("_paths.py", "_transfer.py"),
        client="client",
        server="server",
    ),
    probes=(Capture(node="client", interface="eth0"), Capture(node="client", interface="eth1")),
    metric=path_share("client", "eth0"),
    path=("server", "client"),
    arms=(carried(10, 10, 20), carried(10, 3, 30)),
    tolerance=Within(0.02, because="a queue of 20 frames more or less on a path is 1 % of what it carries"),
    accuracy=Within(0.02, because="a queue of 20 frames more or less on a path is 1 % of what it carries"),
)
