"""A connection to a peer that does not answer is given up after 131 seconds: at 22 minutes of light, always.

The kernel's documentation of tcp_syn_retries: six retries after four that do not back off.
"""

from lab import Arm, Demonstrated, Duration, Experiment, Program, Reported, Variant, Within, metric, model

DOCUMENTED = Reported("131 s", "will happen after 131seconds")

EXPERIMENT = Experiment(
    topology="deep-space",
    workload=Program(
        argv=("python3", "{files}/_connect.py", "{server}", "{port}"),
        files=("_connect.py",),
        limit=Duration.of("120 min"),
    ),
    metric=metric.program_json("seconds", unit="s"),
    prediction=model.connect_timeout,
    arms=(
        Arm("defaults", DOCUMENTED),
        Arm(
            "fine-timer-wheel",
            DOCUMENTED,
            kernel=Variant(patches=("fine-timer-wheel.patch",)),
            explains=Demonstrated(
                "the documentation adds up what the timers were set to, and the kernel's timer wheel lets one of 64 s "
                "be up to 4.1 s late: with finer steps the sum is right"
            ),
        ),
    ),
    tolerance=Within(0.005, because="it has three digits"),
    expect="not reproduced",
)
