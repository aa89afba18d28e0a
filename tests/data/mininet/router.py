#!/usr/bin/env python3
"""A router between two networks, made from a host whose class turns forwarding on."""

from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import Topo


class Router(Node):
    """Forwards packets."""

    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl net.ipv4.ip_forward=1")

    def terminate(self):
        self.cmd("sysctl net.ipv4.ip_forward=0")
        super().terminate()


class TwoNetworks(Topo):
    """Two hosts, each with a default route."""

    def build(self):
        router = self.addNode("r0", cls=Router, ip="10.1.0.1/24")
        for number, host in ((1, "left"), (2, "right")):
            switch = self.addSwitch(f"s{number}")
            self.addLink(
                switch, router, intfName2=f"r0-eth{number}", params2={"ip": f"10.{number}.0.1/24"}
            )
            found = self.addHost(host, ip=f"10.{number}.0.2/24", defaultRoute=f"via 10.{number}.0.1")
            self.addLink(found, switch)


net = Mininet(topo=TwoNetworks())
net.start()
print("lost", net.pingAll(), "percent")
print(net["left"].cmd("traceroute -n -q 1 10.2.0.2"))
net.stop()
