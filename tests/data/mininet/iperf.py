#!/usr/bin/env python3
"""Mininet's own iperf and pingAll, over links with a rate, a delay and a loss."""

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2), link=TCLink, build=False)
net.build()
for link in net.links:
    link.intf1.config(bw=50, delay="5ms", loss=0.1)
net.start()
net.pingAll()
first, second = net.get("h1", "h2")
print("rates", net.iperf((first, second), seconds=5))
net.stop()
