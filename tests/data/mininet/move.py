#!/usr/bin/env python3
"""A host moves to another port, and the script deletes all flows: the next packet already takes the new way."""

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2), waitConnected=True)
net.start()
h1, h2, s1 = net.get("h1", "h2", "s1")
net.pingAll()
for number in range(3):
    net.delLinkBetween(h1, s1)
    link = net.addLink(h1, s1)
    s1.attach(link.intf2)
    h1.setIP("10.0.0.1/8")
    s1.dpctl("del-flows")
    print(f"moved {number}: {net.pingAll()} % lost")
print(h1.cmd("vconfig add h1-eth0 7 && cat /proc/net/vlan/config"))
net.stop()
