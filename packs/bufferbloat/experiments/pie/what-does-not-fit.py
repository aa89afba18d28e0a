"""Of traffic that does not answer, PIE drops just what does not fit: a third of 15 Mbit/s on a link of 10.

RFC 8033, section 4.2: the probability rests where as much leaves as comes.
"""

from lab import Arm, Duration, Experiment, Implied, OnOff, QueueState, Rate, Steady, Value, Within, law, metric
from lab.model import pie
from lab.model.scenario import Scenario

OFFERED = Rate.of("15 Mbit/s")


@law(formula="1 − rate / offered", source="RFC 8033, 4.2", long_run=True)
def dropped(scenario: Scenario) -> Value:
    """The share holds once the controller has settled, for what comes at a constant rate."""
    assert scenario.rate is not None
    return Value(pie.drop_probability(OFFERED, scenario.rate), "1")


EXPERIMENT = Experiment(
    topology="home-uplink",
    links={"uplink": {"forward": {"queue": {"kind": "pie", "limit": 1000}}}},
    probes=(QueueState(link="uplink", interval=Duration.of("50 ms")),),
    workload=OnOff(duration=Duration.of("60 s"), rate=OFFERED, on=Duration.of("60 s"), off=Duration(0), even=True),
    metric=metric.queue_dropped_share("uplink"),
    prediction=dropped,
    arms=(Arm("pie", Implied(1 / 3, "5 of 15 Mbit/s")),),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.02, because="'just' is but for what the queue's own length moves by in a minute"),
    accuracy=Within(0.02, because="the probability moves around where it rests"),
)
