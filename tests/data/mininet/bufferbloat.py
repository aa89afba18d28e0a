#!/usr/bin/env python3
"""A long download fills the queue of a slow link. How long does a ping then take?"""

import re
from argparse import ArgumentParser
from statistics import median

import matplotlib.pyplot as plt
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo

parser = ArgumentParser()
parser.add_argument("--bw", type=float, default=10, help="rate of the slow link in Mbit/s")
parser.add_argument("--delay", type=float, default=10, help="one-way delay in ms")
parser.add_argument("--queue", type=int, default=100, help="packets in the queue")
parser.add_argument("--time", type=int, default=20, help="seconds")
parser.add_argument("--offload", action="store_true", help="leave segmentation offload on")
args = parser.parse_args()


class Home(Topo):
    """A server, a router's queue, and a home."""

    def build(self):
        server, home, router = self.addHost("server"), self.addHost("home"), self.addSwitch("s0")
        self.addLink(server, router, delay=f"{args.delay}ms")
        self.addLink(router, home, bw=args.bw, max_queue_size=args.queue)


def pings(text):
    return [float(each) for each in re.findall(r"time=([\d.]+) ms", text)]


net = Mininet(topo=Home(), link=TCLink)
net.start()
server, home = net.get("server", "home")
if not args.offload:
    server.cmd("ethtool -K server-eth0 tso off gso off")  # a queue of packets is then one of frames
idle = pings(home.cmd(f"ping -c 10 -i 0.1 {server.IP()}"))
listener = home.popen(["iperf3", "-s", "-1"])
download = server.popen(["iperf3", "-c", home.IP(), "-t", str(args.time)])
loaded = pings(home.cmd(f"ping -c {args.time * 10 - 20} -i 0.1 {server.IP()}"))
download.wait()
listener.wait()
net.stop()

plt.plot([0.1 * number for number in range(len(loaded))], loaded)
plt.xlabel("time (s)")
plt.ylabel("round trip (ms)")
plt.savefig("rtt.png")
print(f"idle {median(idle):.1f} ms, under load {median(loaded):.1f} ms, at most {max(loaded):.1f} ms")
