"""With the MSS in its SYN raised to 1460, A sends 1448 bytes a segment and B still 448; nothing is fragmented.

The test of the patched xt_TCPMSS, by tcpdump, and three other ways to do the same.
"""

from dataclasses import replace

from lab import metric, model
from lab.middlebox import MssProgram, MssQueue, TcpMss
from lab.probe import Capture
from lab.spec.experiment import Arm, Exactly, Experiment, Figure, Metric, Prediction, Variant
from lab.units import Size
from lab.workload import Netcat

WIDE = Size(1460)
PATCHED = Arm(
    "patched-iptables",
    reported="1448 B",
    kernel=Variant(patches=("xt-tcpmss-may-raise.patch",)),
    middleboxes=(TcpMss(node="receiver", mss=WIDE),),
)
ROUTE = {"path": {"ends": {"receiver": {"advmss": WIDE}}}}


def of_patched(name: str, reported: Figure, measure: Metric, prediction: Prediction) -> Arm:
    """What else the article saw, with its own way."""
    return replace(PATCHED, name=name, reported=reported, metric=measure, prediction=prediction)


EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("1 MB"), back=Size.of("500 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.largest_payload(),
    prediction=model.largest_payload,
    arms=(
        PATCHED,
        Arm("route-advmss", reported="1448 B", links=ROUTE),
        Arm("tc-bpf", reported="1448 B", middleboxes=(MssProgram(node="receiver", mss=WIDE),)),
        Arm("scapy-nfqueue", reported="1448 B", middleboxes=(MssQueue(node="receiver", mss=WIDE),)),
        of_patched("syn", "1460 B", metric.mss_in("SYN"), model.mss_of_syn),
        of_patched("syn-ack", "1460 B", metric.mss_in("SYN-ACK"), model.mss_of_syn_ack),
        of_patched("b-to-a", "448 B", metric.largest_payload("back"), model.largest_payload_back),
        of_patched("fragments", 0, metric.fragments(), model.no_fragments),
    ),
    tolerance=Exactly(because="options, segments and fragments are counted; all are looked at"),
)
