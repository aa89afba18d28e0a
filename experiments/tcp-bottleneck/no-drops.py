"""The delay loses no packet: no drop in the queue, no retransmission in the capture or in Wireshark's Expert Info.

`tc -s qdisc` after the second iperf run, whose netem has its default limit of 1,000 packets, and the sender's tcpdump
in Wireshark.
"""

from lab import (
    Arm,
    Capture,
    Consistent,
    Demonstrated,
    Duration,
    Exactly,
    Experiment,
    ExpertInfo,
    Implied,
    Iperf,
    Iperf3,
    Reported,
    metric,
    model,
)

QUEUE = Reported(0, "limit 1000 delay 10.0ms ... (dropped 0, overlimits 0 requeues 0)")
CAPTURE = Implied(0, "'if don't see errors we don't have drops, good (Analyze -> Expert Info)'")
ARTICLE = {"path": {"forward": {"limit": 1000}}}
# The send buffer of delay-100ms: 4 MiB held 963 segments, each with the 4,352 B of one that is sent alone.
ALONE = {"sender": {"gso_max_segs": 1}}
ERA = {"net.ipv4.tcp_wmem": f"4096 16384 {4194304 // 4352 * 2280}"}

EXPERIMENT = Experiment(
    topology="delay-10ms",
    workload=Iperf3(duration=Duration.of("10 s")),
    metric=metric.drops(),
    prediction=model.lost_frames,
    arms=(
        Arm("qdisc", QUEUE, links=ARTICLE),
        Arm("capture", CAPTURE, links=ARTICLE, probes=(Capture(node="sender"),), metric=metric.retransmits()),
        Arm(
            "expert-info",
            CAPTURE,
            links=ARTICLE,
            probes=(ExpertInfo(node="sender"),),
            metric=metric.expert_retransmits(),
        ),
        Arm(
            "derived-limit",
            QUEUE,
            explains=Demonstrated(
                "the delay itself loses nothing: a queue that holds all that can be in flight drops nothing"
            ),
        ),
        Arm(
            "buffer-of-the-article",
            QUEUE,
            links=ARTICLE,
            hosts=ALONE,
            sysctls=ERA,
            workload=Iperf(duration=Duration.of("10 s")),
            explains=Consistent(
                "the article's send buffer of 4 MiB held 963 segments, which a limit of 1,000 takes",
                assumed=("no segmentation offload",),
            ),
        ),
    ),
    tolerance=Exactly(because="frames are counted"),
    expect="not reproduced",
)
