"""A receive buffer of 12.5 MB, the bandwidth-delay product, gives only 456 Mbit/s.

The run after tcp_rmem was raised as well; tcp_wmem was 60 MiB by then.
"""

from lab import Arm, Demonstrated, Duration, Experiment, Iperf, Reported, TcpInfo, Within, metric, model

REPORTED = Reported("456 Mbit/s", "After increasing it to 12.5MBytes (...) we get only 456Mbit/s")

EXPERIMENT = Experiment(
    topology="delay-100ms",
    sysctls={"net.ipv4.tcp_wmem": "4096 16384 62914560", "net.ipv4.tcp_rmem": "4096 131072 12500000"},
    workload=Iperf(duration=Duration.of("10 s")),
    probes=(TcpInfo(node="sender"),),
    metric=metric.iperf_goodput(),
    prediction=model.goodput_iperf,
    arms=(
        Arm("buffer-of-12.5-MB", REPORTED),
        Arm(
            "window-of-6.25-MB",
            REPORTED,
            sysctls={"net.ipv4.tcp_rmem": "4096 131072 9878800"},
            explains=Demonstrated(
                "kernels before 6.6 advertised half of a buffer: 6.25 MB / 100 ms is 500 Mbit/s, less slow start"
            ),
        ),
    ),
    tolerance=Within(0.05, because="slow start takes a second more or less of ten, as HyStart ends it"),
    expect="not reproduced",
)
