"""The receive window stops growing after a second, at 3,145,728 bytes: half of tcp_rmem's 6 MiB.

Wireshark's window scaling graph of the third run.
"""

from lab import Absolute, Arm, Capture, Demonstrated, Duration, Experiment, Iperf3, Reported, Within, metric, model

PLATEAU = Reported("3145728 B", "The value is of 3145728 bytes", part="stops at 3,145,728 bytes")
SECOND = Reported("1 s", "after 1s the window size stops growing", part="after a second")

EXPERIMENT = Experiment(
    topology="delay-100ms",
    workload=Iperf3(duration=Duration.of("10 s")),
    probes=(Capture(node="sender"),),
    metric=metric.window_plateau(),
    arms=(
        Arm("defaults", PLATEAU, prediction=model.window_plateau),
        Arm(
            "settles",
            SECOND,
            metric=metric.window_settled(),
            tolerance=Absolute("0.5 s", because="read off a graph, in whole seconds"),
        ),
        Arm(
            "window-of-3-MiB",
            PLATEAU,
            prediction=model.window_plateau,
            sysctls={"net.ipv4.tcp_rmem": "4096 131072 4973107"},
            explains=Demonstrated(
                "kernels before 6.6 advertised half of the buffer; this one advertises payload over memory in use"
            ),
        ),
    ),
    tolerance=Within(0.002, because="a window is advertised in units of 2 to the power of its scale"),
    expect="partly",
)
