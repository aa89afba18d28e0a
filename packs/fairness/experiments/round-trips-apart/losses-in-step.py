"""With losses in step, twice the round trip costs Reno three quarters of its goodput, and CUBIC half.

Lakshman and Madhow (1997): goodput goes with RTT to the power of -2. RFC 9438, section 5: CUBIC's window grows by time,
so that only the division by RTT is left. Here the link is down each six seconds for longer than a round trip: all lose.
"""

from lab import metric, model
from lab.prediction import Prediction, law
from lab.probe import TcpInfo
from lab.spec.experiment import Arm, Experiment, Implied, Within
from lab.units import Duration, Value
from lab.workload import Bulk, Flow, Flows

LENGTH = Duration.of("180 s")
TWO_TO_ONE = "two seconds of each six go to timeouts and slow start, which the law leaves out"


def share(power: int) -> Prediction:
    """The law of the first flow's share, where goodput goes with RTT to this power."""

    @law(formula=f"1 / Σ (RTT of the first / RTT)^{power}", source="Lakshman and Madhow (1997); RFC 9438, section 5")
    def by_round_trip(scenario: model.Scenario) -> Value:
        """It holds for losses in step, at times that do not depend on the windows, on a link that is never full."""
        trips = [model.base_rtt(flow.scenario).number for flow in scenario.flows]
        return Value(1 / sum((trips[0] / each) ** power for each in trips), "1")

    return by_round_trip


def pair(congestion: str) -> Flows:
    """Two flows, 100 ms and 200 ms away."""
    return Flows(
        (
            Flow("near", Bulk(client="near", congestion=congestion, duration=LENGTH), spread=Duration.of("1 s")),
            Flow("far", Bulk(client="far", congestion=congestion, duration=LENGTH), spread=Duration.of("1 s")),
        )
    )


EXPERIMENT = Experiment(
    topology="outages",
    workload=pair("reno"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metric=metric.flow_share("near", 60, 180),
    path=("near", "receiver"),
    arms=(
        Arm("reno", Implied(0.8, "4 to 1", part="Reno three quarters"), prediction=share(2)),
        Arm("cubic", Implied(2 / 3, "2 to 1", part="CUBIC half"), workload=pair("cubic"), prediction=share(1)),
    ),
    samples=10,
    tolerance=Within(0.1, because=TWO_TO_ONE),
    accuracy=Within(0.1, because=TWO_TO_ONE),
)
