"""Window scaling can be turned off without harm.

Some guides turn tcp_window_scaling off for the sake of old firewalls. The window has 16 bits then: RFC 7323, section 2.
"""

from lab import Arm, AtLeast, Bulk, Duration, Experiment, Implied, Value, Within, law, metric, model


@law(formula="⌊65535 / MSS⌋ × MSS / RTT", source="RFC 7323, 2.2")
def goodput_unscaled(scenario: model.Scenario) -> Value:
    """As many whole segments as 16 bits can offer go once in a round trip, on a link that is faster than that."""
    mss = model.largest_payload(scenario).number
    return Value(65535 // mss * mss * 8 / model.base_rtt(scenario).number, "bit/s")


EXPERIMENT = Experiment(
    topology="delay-100ms",
    workload=Bulk(duration=Duration.of("20 s")),
    metric=metric.bulk_goodput(),
    prediction=model.goodput_bulk,
    arms=(
        Arm("defaults"),
        Arm(
            "tcp_window_scaling-0",
            Implied(0.95, "without harm: nobody would call a twentieth less none"),
            sysctls={"net.ipv4.tcp_window_scaling": 0},
            relative_to="defaults",
            prediction=goodput_unscaled,
        ),
    ),
    tolerance=AtLeast(because="more would be no harm either"),
    accuracy=Within(0.03, because="slow start takes its part of twenty seconds"),
    unexplained="the law says why: 45 segments in a round trip of 100 ms, whatever the link",
    expect="not reproduced",
)
