"""A gigabit Ethernet carries 927 Mbit/s of TCP; the headers of Ethernet, IP and TCP are the difference.

The first iperf run, 10 s with nothing changed. "The value can deviate depending from system and setup", it says.
"""

from lab import Absolute, Arm, Capture, Duration, Experiment, Implied, Iperf3, Reported, TcpInfo, Within, metric, model

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=Iperf3(duration=Duration.of("10 s")),
    probes=(Capture(node="sender"), TcpInfo(node="sender")),
    metric=metric.iperf3_goodput(),
    prediction=model.goodput_line_rate,
    arms=(
        Arm("defaults", Reported("927 Mbit/s", "0.0-10.0 sec  1.08 GBytes  927 Mbits/sec", part="carries 927 Mbit/s")),
        Arm(
            "headers",
            Implied(
                0.073,
                "'the diff go to the Ethernet TCP and IP headers': 1 Gbit/s less 927",
                part="headers are the rest",
            ),
            metric=metric.header_share(),
            prediction=model.header_share,
            tolerance=Absolute(
                0.005, because="its ten seconds have a mean of 927, with an interval (95 %) of 4 either way"
            ),
        ),
    ),
    tolerance=Within(0.02, because="the article's own seconds spread over 2 % (915 to 934 Mbit/s)"),
    unexplained="Headers take 5.9 % of the wire, and the article is 7.3 % short. It does not say how much its hosts "
    "sent.",
    expect="partly",
)
