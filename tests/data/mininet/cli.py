#!/usr/bin/env python3
"""Mininet's command line, from a file of commands; a link fails and recovers."""

from mininet.cli import CLI
from mininet.net import Mininet
from mininet.topo import LinearTopo

net = Mininet(topo=LinearTopo(2))
net.start()
CLI(net, script="commands.mn")
net.configLinkStatus("s1", "s2", "down")
print("without the link", net.pingAll())
net.configLinkStatus("s1", "s2", "up")
print("with the link", net.pingAll())
net.stop()
