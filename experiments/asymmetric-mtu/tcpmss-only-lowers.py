"""The firewall cannot raise the MSS: `-j TCPMSS --set-mss 1460` leaves a SYN's 460 as it is.

The second idea, before the module was patched.
"""

from lab import metric, model
from lab.middlebox import NftMaxseg, TcpMss
from lab.probe import Capture
from lab.spec.experiment import Arm, Exactly, Experiment
from lab.units import Size
from lab.workload import Netcat

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("10 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.mss_in("SYN"),
    prediction=model.mss_of_syn,
    arms=(
        Arm("iptables-1460", reported="460 B", middleboxes=(TcpMss(node="receiver", mss=Size(1460)),)),
        Arm("nftables-1460", reported="460 B", middleboxes=(NftMaxseg(node="receiver", mss=Size(1460)),)),
        # The same rules at work.
        Arm("iptables-300", middleboxes=(TcpMss(node="receiver", mss=Size(300)),)),
        Arm("nftables-300", middleboxes=(NftMaxseg(node="receiver", mss=Size(300)),)),
    ),
    tolerance=Exactly(because="an option holds a number"),
)
