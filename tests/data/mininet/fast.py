#!/usr/bin/env python3
"""Links without parameters: TCP gets the rate that ethtool shows, and the script sets queues as on any Linux."""

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2))
net.start()
h1, h2 = net.get("h1", "h2")
net.pingAll()
print(h1.cmd("ethtool h1-eth0 | grep Speed"))
print("received", net.iperf((h1, h2), seconds=1))
print("deleted", h2.cmd("tc qdisc del dev h2-eth0 root; echo $?"))
print("added", h1.cmd("tc qdisc add dev h1-eth0 root netem delay 5ms; echo $?"))
print(h1.cmd(f"ping -c 1 {h2.IP()}"))
net.stop()
