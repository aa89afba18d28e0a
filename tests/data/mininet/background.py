#!/usr/bin/env python3
"""A web server in the background, an iperf server that is watched, and a file that a host writes."""

from time import sleep

from helper import said
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(3))
net.start()
first, second, third = net.hosts
first.cmd("python3 -m http.server 80 &")
sleep(1)
print(said(second.cmd(f"curl -s -o /dev/null -w '%{{http_code}}' {first.IP()}")))
third.sendCmd("iperf -s")
client = second.popen(["iperf", "-c", third.IP(), "-n", "1M"])
client.wait()
print("heard", "connected" in third.monitor(timeoutms=500))
third.sendInt()
third.waitOutput()
second.cmd("tcpdump -c 3 -w ping.pcap -i h2-eth0 icmp & sleep 1; ping -c 3 -i 0.2 10.0.0.1; wait %1")
first.cmd("kill %python3")
net.stop()
