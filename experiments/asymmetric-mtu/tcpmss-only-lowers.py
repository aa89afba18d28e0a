"""The firewall cannot raise the MSS, only lower it: `-j TCPMSS --set-mss 1460` leaves a SYN's 460 as it is.

The second idea, before the module was patched.
"""

from lab import Arm, Capture, Exactly, Experiment, Implied, Netcat, NftMaxseg, Size, TcpMss, metric, model

UNRAISED = Implied("460 B", "'the MSS in a segment cannot be raised': the SYN's own")
LOWERED = Implied("300 B", "'it can only be lowered': what the rule sets")

EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Netcat(size=Size.of("10 kB")),
    probes=(Capture(node="sender"),),
    metric=metric.mss_in("SYN"),
    prediction=model.mss_of_syn,
    arms=(
        Arm("iptables-1460", UNRAISED, middleboxes=(TcpMss(node="receiver", mss=Size(1460)),), title="iptables, 1460"),
        Arm(
            "nftables-1460", UNRAISED, middleboxes=(NftMaxseg(node="receiver", mss=Size(1460)),), title="nftables, 1460"
        ),
        Arm("iptables-300", LOWERED, middleboxes=(TcpMss(node="receiver", mss=Size(300)),), title="iptables, 300"),
        Arm("nftables-300", LOWERED, middleboxes=(NftMaxseg(node="receiver", mss=Size(300)),), title="nftables, 300"),
    ),
    tolerance=Exactly(because="an option holds a number"),
)
