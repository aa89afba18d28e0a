#!/usr/bin/env python3
"""What a slow link does to packets that are sent at once, as one JSON document."""

import json
from time import sleep

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo

SEND = "s = socket.create_server(('', 80)); c = s.accept()[0]; c.sendall(bytes(10 * 1448)); c.recv(1)"
RECEIVE = """
c = socket.create_connection(("10.0.0.1", 80))
times = []
for _ in range(10):
    c.recv(1448, socket.MSG_WAITALL)
    times.append(time.monotonic())
print(1e3 * (times[-1] - times[0]))
"""
BURST = "s = socket.socket(type=socket.SOCK_DGRAM)\nfor _ in range(12): s.sendto(bytes(1472), ('10.0.0.2', 9))"
ARRIVE = """
s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(("", 9))
times = [(s.recv(2000), time.monotonic())[1] for _ in range(12)]
print([round(1e3 * (after - before), 3) for before, after in zip(times, times[1:])])
"""


class Slow(Topo):
    """A fast link, and a slow one."""

    def build(self):
        near, far, switch = self.addHost("h1"), self.addHost("h2"), self.addSwitch("s1")
        self.addLink(near, switch)
        self.addLink(switch, far, bw=1)


def python(host, code):
    return host.popen(["python3", "-c", f"import socket, time\n{code}"], universal_newlines=True)


net = Mininet(topo=Slow(), link=TCLink)
net.start()
near, far = net.get("h1", "h2")
far.cmd("ping -c 1 10.0.0.1")

server = python(near, SEND)
sleep(0.1)
short = float(python(far, RECEIVE).communicate()[0])
server.terminate()
server.wait()
sleep(1)
receiver = python(far, ARRIVE)
sleep(0.5)
python(near, BURST).wait()
gaps = json.loads(receiver.communicate()[0])
net.stop()
print(json.dumps({"transfer_ms": short, "gaps_ms": gaps}))
