#!/usr/bin/env python3
"""What the links of two hosts and a switch do to packets, as one JSON document."""

import json
import re
from time import sleep

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Line(Topo):
    """A fast link, and a slow one."""

    def build(self):
        near, far, switch = self.addHost("h1"), self.addHost("h2"), self.addSwitch("s1")
        self.addLink(near, switch)
        self.addLink(switch, far, bw=10, delay="25ms")


def carried(host, seconds):
    """Return the rate in bit/s at which frames arrive."""
    counter = "cat /sys/class/net/h2-eth0/statistics/rx_bytes"
    before = int(host.cmd(counter))
    sleep(seconds)
    return 8 * (int(host.cmd(counter)) - before) / seconds


def pinged(host, options):
    said = host.cmd(f"ping -q {options} 10.0.0.1")
    received = re.search(r"(\d+) received", said)
    least = re.search(r"= ([\d.]+)/", said)
    return int(received[1]) if received else None, float(least[1]) if least else None


found = {}
net = Mininet(topo=Line(), link=TCLink)
net.start()
near, far, switch = net.get("h1", "h2", "s1")
link = net.linksBetween(switch, far)[0]
found["limits"] = [near.cmd(f"cat /proc/sys/net/ipv4/tcp_{way}mem").split()[:2] for way in "rw"]
found["ping"] = pinged(far, "-c 3 -i 0.5")

download = far.popen(["iperf3", "-s", "-1"])
sleep(0.1)
upload = near.popen(["iperf3", "-u", "-b", "30M", "-t", "5", "-c", "10.0.0.2"])
sleep(1)
found["queue"] = switch.cmd("tc -s qdisc show dev s1-eth2")
found["rates"] = [carried(far, 1)]
link.intf1.config(bw=20, delay="25ms")
sleep(0.1)
found["rates"].append(carried(far, 1))
upload.wait()
download.terminate()
download.wait()

link.intf1.config(bw=100, delay="25ms", loss=5, max_queue_size=1000)
found["losses"] = 2000 - pinged(far, "-c 2000 -i 0.002")[0]

net.configLinkStatus("s1", "h2", "down")
link.intf1.ifconfig("up")
found["carrier"] = [switch.cmd("cat /sys/class/net/s1-eth2/carrier").strip()]
link.intf2.ifconfig("up")
found["carrier"].append(switch.cmd("cat /sys/class/net/s1-eth2/carrier").strip())
found["recovered"] = pinged(far, "-c 50 -i 0.1 -W 1")
net.stop()
print(json.dumps(found))
