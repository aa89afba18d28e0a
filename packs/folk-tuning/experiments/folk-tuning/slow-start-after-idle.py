"""With tcp_slow_start_after_idle=0, a connection that has paused answers in one round trip.

RFC 5681, section 4.1, has it begin again with the initial window: a hundred segments then take four round trips.
"""

from lab import Arm, Demonstrated, Experiment, Implied, Prediction, Program, Value, Within, law, metric, model

SEGMENTS = 100


def after_pause(trips: int) -> Prediction:
    """The law of how long the answer takes, in so many bursts."""

    @law(formula="RTT × bursts + last burst / rate", source="RFC 5681, 4.1; tcp_cwnd_restart()")
    def answered(scenario: model.Scenario) -> Value:
        """It holds for a window that was large enough before the pause, and a pause of many RTOs."""
        last = SEGMENTS - 10 * (2 ** (trips - 1) - 1)
        assert scenario.rate is not None
        return Value(trips * model.base_rtt(scenario).number + last * 1538 * 8 / scenario.rate.bps, "s")

    return answered


EXPERIMENT = Experiment(
    topology="delay-10ms",
    workload=Program(
        argv=("python3", "{files}/_ask_again.py", "{server}", "{port}", str(1448 * SEGMENTS)),
        service=("python3", "{files}/_answer.py", "{port}", str(1448 * SEGMENTS)),
        files=("_ask_again.py", "_answer.py"),
        client="receiver",
        server="sender",
    ),
    metric=metric.program_json("seconds", unit="s"),
    arms=(
        Arm(
            "tcp_slow_start_after_idle-0",
            Implied("10 ms", "a round trip"),
            sysctls={"net.ipv4.tcp_slow_start_after_idle": 0},
            prediction=after_pause(1),
        ),
        Arm(
            "defaults",
            Implied("40 ms", "10, 20, 40 and 30 segments"),
            prediction=after_pause(4),
            explains=Demonstrated("by default the window begins anew after a pause, with ten segments"),
        ),
    ),
    tolerance=Within(
        0.2, because="a hundred segments take a tenth of a round trip at a gigabit, and the next has 100 %"
    ),
    accuracy=Within(0.02, because="what the programs' wake-ups take"),
)
