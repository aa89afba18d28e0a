"""Flent's TCP upload gains about 1 % without timestamps, and its ping stays as it is.

The Flent graphs of an upload with ping, one for each setting; they carry no figures, so the text's own is tested.
"""

from lab import Absolute, Arm, Duration, Experiment, Flent, Implied, Within, metric, model

CARD = {"offloads": {"gro": True}, "coalescing": "20 us"}  # as flent-download has it
# Buffers of full size from the start, and more to send than the window takes: then the queue that ping meets is known.
BUFFERS: dict[str, int | str] = {
    "net.ipv4.tcp_rmem": "4096 6291456 6291456",
    "net.ipv4.tcp_wmem": "4096 16777216 16777216",
}
ON: dict[str, int | str] = {"net.ipv4.tcp_timestamps": 1}
OFF: dict[str, int | str] = {"net.ipv4.tcp_timestamps": 0}

GAIN = Implied(1.01, "the text's 'increased bandwidth by ~1%'; the graphs carry no figures", part="gains about 1 %")
SAME = Implied(1, "two graphs of the ping, one like the other", part="its ping stays as it is")

EXPERIMENT = Experiment(
    topology="symmetric-10g",
    workload=Flent(test="tcp_upload", length=Duration.of("1 s")),  # why so short: see flent-download
    metric=metric.flent_goodput(),
    prediction=model.goodput_line_rate,
    arms=(
        Arm("on", sysctls=ON, hosts={"sender": CARD, "receiver": CARD}, title="timestamps on"),
        Arm("off", GAIN, relative_to="on", sysctls=OFF, hosts={"sender": CARD, "receiver": CARD}, title="off over on"),
        Arm(
            "ping-on",
            sysctls=ON | BUFFERS,
            metric=metric.flent_rtt(),
            prediction=model.rtt_of_full_window,
            title="ping, timestamps on",
        ),
        Arm(
            "ping-off",
            SAME,
            relative_to="ping-on",
            sysctls=OFF | BUFFERS,
            metric=metric.flent_rtt(),
            prediction=model.rtt_of_full_window,
            tolerance=Within(0.01, because="a percent more payload empties the same window a percent sooner"),
            title="ping, off over on",
        ),
    ),
    tolerance=Absolute(0.005, because="the article says about 1 %: from half a percent to one and a half"),
)
