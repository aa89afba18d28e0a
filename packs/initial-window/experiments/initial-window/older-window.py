"""An initial window of ten segments saves a short transfer one or two round trips of those that three segments took.

RFC 6928 against RFC 3390, whose window is three segments of 1460 B. Slow start doubles either one, so that n segments
save ⌈log2(n / 3 + 1)⌉ − ⌈log2(n / 10 + 1)⌉ round trips: 1 or 2 for more than three.
"""

from math import ceil, log2

from lab import Arm, Experiment, Implied, Prediction, Program, Value, Within, law, metric, model


def rounds(window: int, segments: int) -> Prediction:
    """The law of how long so many segments take, with this initial window."""

    @law(formula="RTT × (1 + ⌈log2(segments / window + 1)⌉) + last burst / rate", source="RFC 3390; RFC 5681, 3.1")
    def completion_time(scenario: model.Scenario) -> Value:
        """It holds while no window but the congestion window counts, and the link is idle between bursts."""
        trips = ceil(log2(segments / window + 1))
        last = segments - window * (2 ** (trips - 1) - 1)
        assert scenario.rate is not None
        return Value(model.base_rtt(scenario).number * (1 + trips) + last * 1538 * 8 / scenario.rate.bps, "s")

    return completion_time


def fetched(segments: int, window: int, trips: int) -> Arm:
    """A response of so many segments of 1448 B, by a server whose route has this initial window."""
    return Arm(
        f"{segments}-segments-by-{window}",
        Implied(f"{10 * trips} ms", f"{trips} round trips of 10 ms"),
        workload=Program(
            argv=("python3", "{files}/_fetch.py", "{server}", "{port}"),
            service=("python3", "{files}/_serve.py", "{port}", str(1448 * segments), str(window)),
            client="receiver",
            server="sender",
            files=("_fetch.py", "_serve.py"),
        ),
        prediction=rounds(window, segments),
    )


EXPERIMENT = Experiment(
    topology="delay-10ms",
    workload=Program(argv=("true",)),
    metric=metric.program_json("seconds", unit="s"),
    arms=(
        fetched(10, 10, 2),
        fetched(10, 3, 4),
        fetched(30, 10, 3),
        fetched(30, 3, 5),
        fetched(90, 10, 5),
        fetched(90, 3, 6),
        fetched(100, 3, 7),
    ),
    tolerance=Within(0.12, because="whole round trips tell the two apart; the last burst's own time is up to a ms"),
    accuracy=Within(0.01, because="a hundredth of a round trip is what the programs' wake-ups take"),
)
