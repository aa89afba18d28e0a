#!/usr/bin/env python3
"""A transfer of two seconds over a link of 10 Mbit/s whose queue holds 50 packets, and two files."""

from pathlib import Path

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Pair(Topo):
    """Two hosts and a switch."""

    def build(self):
        switch = self.addSwitch("s1")
        self.addLink(self.addHost("h1"), switch, delay="5ms")
        self.addLink(self.addHost("h2"), switch, bw=10, delay="5ms", max_queue_size=50)


net = Mininet(topo=Pair(), link=TCLink)
net.start()
first, second = net.hosts
first.cmd("ethtool -K h1-eth0 tso off gso off")
server = second.popen(["iperf3", "-s", "-1"])
client = first.popen(["iperf3", "-c", second.IP(), "-t", "2"])
print(client.communicate()[0].decode())
print("processes", first.pid, second.pid, server.pid, client.pid)
net.stop()
Path("notes.txt").write_text("1 < 2 & 3\n")
Path("plot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>\n')
