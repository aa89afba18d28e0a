#!/usr/bin/env python3
"""Mininet's user switch: with a second controller that takes over, and in a network namespace of its own."""

from functools import partial
from time import sleep

from mininet.link import TCULink
from mininet.net import Mininet, MininetWithControlNet
from mininet.node import Controller, UserSwitch
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2), switch=UserSwitch, link=partial(TCULink, bw=10, delay="5ms"), controller=None)
first, second = (net.addController(f"c{number}", Controller, port=6653 + number) for number in (0, 1))
net.start()
net.waitConnected()
switch = net["s1"]
print("lost", net.pingAll(), "by the first")
print(net["h1"].cmd("ping -c 2", net["h2"].IP()))
print("carried", net.iperf(seconds=1))
print("entries", switch.dpctl("dump-flows").count("actions="))
first.cmd("kill %controller")
sleep(20)
switch.dpctl("del-flows")
print("entries left", switch.dpctl("dump-flows").count("actions="))
print("lost", net.pingAll(), "by the second")
print(switch.cmd("cat /tmp/s1-ofp.log"), switch.dpctl("show"))
net.stop()

own = MininetWithControlNet(SingleSwitchTopo(2), switch=UserSwitch, link=TCULink, controller=Controller, inNamespace=True)
own.start()
own.waitConnected()
print("lost", own.pingAll(), "in its own namespace")
print("interfaces", sorted(own["s1"].cmd("ls /sys/class/net").split()))
own.stop()
