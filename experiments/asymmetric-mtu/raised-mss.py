"""With the MSS in its SYN raised to 1460, A sends 1448 bytes a segment and B still 448; nothing is fragmented.

The test of the patched xt_TCPMSS, by tcpdump, and three other ways to do the same.
"""

from lab import metric, model
from lab.middlebox import MssProgram, MssQueue, TcpMss
from lab.probe import Capture
from lab.spec.experiment import Arm, Exactly, Experiment, Variant
from lab.units import Size
from lab.workload import Netcat

WIDE = Size(1460)
PATCHED = {
    "kernel": Variant(patches=("xt-tcpmss-may-raise.patch",)),
    "middleboxes": (TcpMss(node="receiver", mss=WIDE),),
}
ROUTE = {"path": {"ends": {"receiver": {"advmss": WIDE}}}}

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("1 MB"), back=Size.of("500 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.largest_payload(),
    prediction=model.largest_payload,
    arms=(
        Arm("patched-iptables", reported="1448 B", **PATCHED),
        Arm("route-advmss", reported="1448 B", links=ROUTE),
        Arm("tc-bpf", reported="1448 B", middleboxes=(MssProgram(node="receiver", mss=WIDE),)),
        Arm("scapy-nfqueue", reported="1448 B", middleboxes=(MssQueue(node="receiver", mss=WIDE),)),
        # What else the article saw, with its own way.
        Arm("syn", reported="1460 B", metric=metric.mss_in("SYN"), prediction=model.mss_of_syn, **PATCHED),
        Arm("syn-ack", reported="1460 B", metric=metric.mss_in("SYN-ACK"), prediction=model.mss_of_syn_ack, **PATCHED),
        Arm(
            "b-to-a",
            reported="448 B",
            metric=metric.largest_payload("back"),
            prediction=model.largest_payload_back,
            **PATCHED,
        ),
        Arm("fragments", reported=0, metric=metric.fragments(), prediction=model.no_fragments, **PATCHED),
    ),
    tolerance=Exactly(because="options, segments and fragments are counted; all are looked at"),
)
