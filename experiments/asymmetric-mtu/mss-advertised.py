"""Each end announces its own MTU less 40: the SYN of the host behind 500 bytes says 460, the SYN-ACK to it 1460.

The first tcpdump, of a connection without data.
"""

from lab import Arm, Capture, Exactly, Experiment, Netcat, Reported, Size, metric, model

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("10 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.mss_in("SYN"),
    prediction=model.mss_of_syn,
    arms=(
        Arm(
            "syn",
            Reported("460 B", "192.168.1.6.1234: Flags [S], seq 4201136530, win 4600, options [mss 460"),
            title="SYN",
        ),
        Arm(
            "syn-ack",
            Reported(
                "1460 B", "192.168.1.5.35687: Flags [S.], seq 2050732648, ack 4201136531, win 65535, options [mss 1460"
            ),
            metric=metric.mss_in("SYN-ACK"),
            prediction=model.mss_of_syn_ack,
            title="SYN-ACK",
        ),
    ),
    tolerance=Exactly(because="an option holds a number"),
)
