"""With the MSS in its SYN raised to 1460, A sends 1448 bytes a segment and B still 448; nothing is fragmented.

The test of the patched xt_TCPMSS, by tcpdump, and three other ways to do the same.
"""

from dataclasses import replace

from lab import (
    Arm,
    Capture,
    Claimed,
    Exactly,
    Experiment,
    Implied,
    Metric,
    MssProgram,
    MssQueue,
    Netcat,
    Prediction,
    Reported,
    Size,
    TcpMss,
    Variant,
    metric,
    model,
)

WIDE = Size(1460)
A, B, WHOLE = "A sends 1448 bytes a segment", "B still sends 448", "nothing is fragmented"
OTHERWISE = Implied("1448 B", "what the article's patch gives, by another way to the same SYN", part=A)
PATCHED = Arm(
    "patched-iptables",
    Reported("1448 B", "seq 289:1737, ack 1, win 65535, options [nop,nop,TS ...], length 1448", part=A),
    kernel=Variant(patches=("xt-tcpmss-may-raise.patch",)),
    middleboxes=(TcpMss(node="receiver", mss=WIDE),),
    title="patched iptables",
)
ROUTE = {"path": {"ends": {"receiver": {"advmss": WIDE}}}}


def of_patched(name: str, claimed: Claimed, measure: Metric, prediction: Prediction) -> Arm:
    """What else the article saw, with its own way."""
    return replace(PATCHED, name=name, claimed=claimed, metric=measure, prediction=prediction)


SYN = Reported("1460 B", "Flags [S], seq 2575051267, win 4600, options [mss 1460", part=A)
SYN_ACK = Reported("1460 B", "Flags [S.], seq 917538710, ack 2575051268, win 65535, options [mss 1460", part=A)
SMALL = Implied("448 B", "'B still has its internally calculated MSS of 460 bytes', less 12 of timestamps", part=B)
NONE = Implied(0, "'each side sends maximum-sized segments that don't incur IP fragmentation'", part=WHOLE)

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("1 MB"), back=Size.of("500 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.largest_payload(),
    prediction=model.largest_payload,
    arms=(
        PATCHED,
        Arm("route-advmss", OTHERWISE, links=ROUTE, title="route's advmss"),
        Arm("tc-bpf", OTHERWISE, middleboxes=(MssProgram(node="receiver", mss=WIDE),), title="BPF program in tc"),
        Arm("scapy-nfqueue", OTHERWISE, middleboxes=(MssQueue(node="receiver", mss=WIDE),), title="scapy on NFQUEUE"),
        of_patched("syn", SYN, metric.mss_in("SYN"), model.mss_of_syn),
        of_patched("syn-ack", SYN_ACK, metric.mss_in("SYN-ACK"), model.mss_of_syn_ack),
        of_patched("b-to-a", SMALL, metric.largest_payload("back"), model.largest_payload_back),
        of_patched("fragments", NONE, metric.fragments(), model.no_fragments),
    ),
    tolerance=Exactly(because="options, segments and fragments are counted; all are looked at"),
)
