#!/usr/bin/env python3
"""A tree of 64 hosts below nine switches, with a controller in the same guest."""

from mininet.net import Mininet
from mininet.node import OVSController, RemoteController
from mininet.topolib import TreeTopo

net = Mininet(topo=TreeTopo(depth=2, fanout=8), controller=None)
net.addController("local", controller=OVSController, port=6653)
net.addController("remote", controller=RemoteController, ip="127.0.0.1", port=6653)
net.start()
hosts = net.hosts
print(len(hosts), "hosts, lost", net.ping([hosts[0], hosts[31], hosts[63]]), "percent")
net.stop()
