"""BBR in place of CUBIC makes a transfer faster: where frames are lost at random, and on a clean path.

Guides set tcp_congestion_control=bbr without a word on the path.
"""

from lab import Above, Arm, Bulk, Duration, Experiment, Implied, Steady, TcpInfo, Value, Within, law, metric, model

BBR = Bulk(congestion="bbr", duration=Duration.of("20 s"))
CHANCE = Within(0.4, because="CUBIC's law is for regular losses: random ones left a window a third larger elsewhere")
LOSSY, CLEAN = "where frames are lost at random", "on a clean path"


@law(formula="rate × (1 − p) × payload / frame", source="Cardwell et al. (2017): BBR does not answer loss by itself")
def goodput_despite_loss(scenario: model.Scenario) -> Value:
    """What is lost is sent again and takes the link's time; it holds for a loss of some hundredths."""
    return Value(model.goodput_line_rate(scenario).number * (1 - scenario.loss), "bit/s")


EXPERIMENT = Experiment(
    topology="lossy",
    workload=Bulk(duration=Duration.of("20 s")),
    probes=(TcpInfo(node="sender", interval=Duration.of("100 ms")),),
    metric=metric.long_run_goodput(),
    prediction=goodput_despite_loss,
    arms=(
        Arm("cubic", prediction=model.goodput_response_cubic, accuracy=CHANCE),
        Arm("bbr", workload=BBR),
        Arm(
            "bbr-over-cubic",
            Implied(1, "faster than CUBIC", part=LOSSY),
            workload=BBR,
            relative_to="cubic",
            accuracy=CHANCE,
        ),
        Arm("cubic-clean", links={"path": {"forward": {"loss": "0 %"}}}, samples=1),
        Arm(
            "bbr-clean",
            Implied(1, "faster than CUBIC", part=CLEAN),
            links={"path": {"forward": {"loss": "0 %"}}},
            workload=BBR,
            relative_to="cubic-clean",
            samples=1,
        ),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Above(0.01, because="nobody tunes a system for less than a hundredth"),
    accuracy=Within(0.1, because="BBR drains its queue now and then, and starts slowly, as the law does not"),
    unexplained="on a clean path the link is full either way, and no congestion control makes it faster",
    expect="partly",
)
