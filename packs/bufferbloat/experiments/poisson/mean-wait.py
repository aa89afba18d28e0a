"""Packets of one size that come by chance wait half a packet's time at half the rate, two at 80 %, and 4.5 at 90 %.

The mean wait of what Kendall calls M/D/1, which Erlang was the first to describe; a packet takes 1.2304 ms.
"""

from lab import Arm, Duration, Experiment, Implied, Listens, Program, QueueState, Steady, Within, metric, model


def loaded(percent: int, seconds: int, wait: str, times: str) -> Arm:
    """So many per cent of the rate, for so long; and the mean wait, as so many times 1.2304 ms."""
    return Arm(
        f"{percent}-percent",
        Implied(wait, f"{times} × 1.2304 ms", part=f"at {percent} %"),
        workload=Program(
            argv=("python3", "{files}/_poisson.py", "{server}", "{port}", str(percent / 100), str(seconds)),
            service=("python3", "{files}/_sink.py", "{port}"),
            ready=Listens("udp"),
            files=("_poisson.py", "_sink.py"),
            limit=Duration.of("200 s"),
        ),
        prediction=model.mean_wait(percent / 100),
    )


EXPERIMENT = Experiment(
    topology="one-server",
    workload=Program(argv=("true",)),
    probes=(QueueState(link="path", interval=Duration.of("20 ms")),),
    metric=metric.mean_queue_delay("path"),
    arms=(
        loaded(50, 40, "615.2 us", "0.5"),
        loaded(80, 40, "2460.8 us", "2"),
        loaded(90, 100, "5536.8 us", "4.5"),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.1, because="a mean over ten times 60,000 packets is off by 5 % where nine tenths are used"),
    accuracy=Within(0.1, because="the same chance is in what the law is compared with"),
    other_seeds=("inconclusive",),
)
