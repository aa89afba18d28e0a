"""With jumbo frames nearly all of a receive buffer of 6 MiB is window: 5 MiB and more.

The documentation of tcp_adv_win_scale: half of a buffer is overhead by default; "Obsolete since linux-6.6".
"""

from lab import Arm, AtLeast, Bulk, Capture, Demonstrated, Duration, Experiment, Implied, Within, metric, model

EXPERIMENT = Experiment(
    topology="delay-100ms",
    links={"path": {"mtu": "9000 B"}},
    sysctls={"net.ipv4.tcp_wmem": "4096 16384 62914560"},
    workload=Bulk(duration=Duration.of("5 s")),
    probes=(Capture(node="sender"),),
    metric=metric.window_plateau(),
    prediction=model.window_plateau,
    arms=(
        Arm(
            "defaults",
            Implied("5 MiB", "five sixths of the buffer, where headers and bookkeeping take less than a tenth"),
            title="tcp_rmem of 6 MiB",
        ),
        Arm(
            "frames-of-1500",
            Implied("3980288 B", "what the same buffer offers frames of 1,500 bytes: payload over memory in use"),
            links={"path": {"mtu": "1500 B"}},
            tolerance=Within(0.002, because="a window is advertised in units of 2 to the power of its scale"),
            explains=Demonstrated("the share is measured: what a frame carries over what it takes in memory"),
            title="frames of 1,500 bytes",
        ),
    ),
    tolerance=AtLeast(because="a larger window serves as well"),
)
