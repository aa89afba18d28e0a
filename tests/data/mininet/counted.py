"""iperf3 sends a number of bytes, and then spins until its next report."""

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Pair(Topo):
    """Two hosts, 100 Mbit/s apart."""

    def build(self):
        self.addLink(self.addHost("h1"), self.addHost("h2"), bw=100, delay="1ms")


net = Mininet(Pair(), link=TCLink, controller=None)
net.start()
h1, h2 = net.get("h1", "h2")
h2.cmd("iperf3 -s -D -1")
print(h1.cmd("iperf3 -c", h2.IP(), "-n 10M"))
net.stop()
