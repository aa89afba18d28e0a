"""Bonds, tunnels, VLANs, VRFs, declared routes and multicast in a guest, each against its law."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import Budget, UmlKernel, boot
from lab.spec.topology import parse
from lab.units import to_plain

pytestmark = [pytest.mark.guest, pytest.mark.needs("ip", "ping", "tc")]

TWO_WIRES = """
about: Two hosts with two cables.
hosts: [a, b]
links:
  one: {ends: [a, b], rate: 100 Mbit/s, delay: 1 ms}
  two: {ends: [a, b], rate: 100 Mbit/s, delay: 1 ms}
"""
ROUTED = """
about: Two hosts behind a router.
hosts: [a, b]
routers: [r]
links:
  near: {ends: [a, r], delay: 10 ms}
  far: {ends: [r, b], delay: 10 ms}
"""
DIAMOND = """
about: Two ways between two hosts, of which all packets back take the slow one.
hosts: {a: {routes: [{to: b, initcwnd: 20, advmss: 1000 B}]}, b: }
routers:
  left:
    routes: [{to: lb, via: {fast: 3, slow: 1}}]
    sysctls: {net.ipv4.fib_multipath_hash_policy: 1}
  right: {routes: [{to: la, via: slow}]}
  fast:
  slow:
links:
  la: {ends: [a, left]}
  lf: {ends: [left, fast], delay: 10 ms}
  ls: {ends: [left, slow], delay: 30 ms}
  rf: {ends: [fast, right]}
  rs: {ends: [slow, right]}
  lb: {ends: [right, b]}
"""
VRFS = """
about: Two customers and one of the provider's, whose router keeps them apart.
hosts: [a, b, c, d]
routers: {r: {vrfs: {red: [la, lb], blue: [lc]}}}
links:
  la: {ends: [a, r], delay: 5 ms}
  lb: {ends: [b, r]}
  lc: {ends: [c, r]}
  ld: {ends: [d, r]}
"""
GROUP = """
about: One sender and two receivers behind a router, and a host outside the groups.
hosts: [a, b, c, d]
routers: [r]
links:
  la: {ends: [a, r], delay: 10 ms}
  lb: {ends: [b, r]}
  lc: {ends: [c, r]}
  ld: {ends: [d, r]}
multicast:
  239.1.2.3: {source: a, receivers: [b, c]}
  ff3e::1: {source: a, receivers: [b, c]}
"""
FAR = """
about: A host 50 ms away, whose hardware address is unknown.
hosts: [a, b]
links:
  path: {ends: [a, b], delay: 50 ms}
neighbours: asked
"""
# Prints the rate at which a TCP transfer arrives, from its second second to its fourth, in Mbit/s.
SERVE = """
import socket, sys, time
connection, _ = socket.create_server((sys.argv[1], 5001)).accept()
start, count, data = time.monotonic(), 0, b"x"
while data and (now := time.monotonic()) < start + 3:
    data = connection.recv(1 << 20)
    count += len(data) if now > start + 1 else 0
print("rate", 8e-6 * count / 2)
"""
SEND = """
import socket, sys
made = socket.create_connection((sys.argv[1], 5001))
try:
    while True:
        made.send(bytes(1 << 16))
except OSError:
    pass
"""
# Prints how many bytes of a transfer come before the first acknowledgement can have an effect.
FIRST = """
import socket, sys
connection, _ = socket.create_server((sys.argv[1], 5001)).accept()
count = len(connection.recv(1 << 20))
connection.settimeout(0.02)
try:
    while data := connection.recv(1 << 20):
        count += len(data)
except TimeoutError:
    print("burst", count)
"""
# Sends one datagram of each of many flows.
FLOWS = """
import socket, sys
for port in range(20000, 20400):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("", port))
    made.sendto(b"x", (sys.argv[1], 9))
"""
JOIN = """
import socket, struct, sys
version = 6 if ":" in sys.argv[1] else 4
made = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET, socket.SOCK_DGRAM)
made.bind(("", 5000))
group = socket.inet_pton(made.family, sys.argv[1])
if version == 4:
    own = socket.if_nametoindex("eth0") if sys.argv[2].startswith("d") else 0  # a receiver has a route to the group
    made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + bytes(4) + struct.pack("=i", own))
else:
    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group + struct.pack("=I", 0))
made.settimeout(2)
try:
    print(sys.argv[2], made.recvfrom(100)[1][0])
except TimeoutError:
    print(sys.argv[2], "nothing")
"""
CAST = """
import socket, sys
made = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
if ":" in sys.argv[1]:
    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 8)
made.sendto(b"x", (sys.argv[1], 5000))
"""
PROGRAMS = {"serve": SERVE, "first": FIRST, "send": SEND, "flows": FLOWS, "join": JOIN, "cast": CAST}
BULK = "on b serve 10.0.1.2 & sleep 0.1; on a send 10.0.1.2; wait; "
CASES: dict[str, tuple[str, str]] = {
    "balance-rr": (TWO_WIRES + "  pair: {ends: [a, b], bond: [one, two]}\n", BULK),
    "active-backup": (
        TWO_WIRES + "  pair: {ends: [a, b], bond: [one, two], mode: active-backup, probe: 100 ms}\n",
        (
            "at a ping -c 2 -i 0.2 b; for w in w0a w0b; do tc -n wires qdisc change dev $w root netem loss 100%; done;"
            "sleep 1; at a ping -c 3 -i 0.2 b"
        ),
    ),
    "802.3ad": (
        TWO_WIRES + "  pair: {ends: [a, b], bond: [one, two], mode: 802.3ad, hash: layer3+4}\n",
        "at a ping -c 2 -i 0.2 b; at a cat /proc/net/bonding/bond0",
    ),
    "tunnels": (
        ROUTED
        + "  office: {ends: [a, b], tunnel: gre}\n"
        + "  keyed: {ends: [a, b], tunnel: gre, id: 7}\n"
        + "  plain: {ends: [a, b], tunnel: ipip}\n"
        + "  lan: {ends: [a, b], tunnel: vxlan, id: 42}\n"
        + "  red: {ends: [a, r], vlan: 10, over: near}\n"
        + "  blue: {ends: [a, b], vlan: 20, over: lan}\n",
        (
            "for h in b.office b.keyed b.plain b.lan r.red b.blue; do at a ping -4 -c 1 $h; done;"
            "for h in b.office b.lan r.red; do at a ping -6 -c 1 $h; done;"
            "ip -n a link; at a ping -4 -M do -c 1 -s 1448 b.office; at a ping -4 -M do -c 1 -s 1449 b.office"
        ),
    ),
    "routes": (
        DIAMOND,
        (
            "ip -n a route; ip -n left route; at a ping -c 1 b; on a flows 10.0.6.2; sleep 1;"
            "for r in fast slow; do ip -n $r -s link show eth0; done;"
            "on b first 10.0.6.2 & sleep 0.1; on a send 10.0.6.2; wait"
        ),
    ),
    "vrf": (
        VRFS,
        "for h in b c d; do at a ping -4 -c 1 -W 1 $h; at a ping -6 -c 1 -W 1 $h; done; at d ping -c 1 -W 1 a",
    ),
    "multicast": (
        GROUP,
        (
            "for g in 239.1.2.3 ff3e::1; do for h in b c d; do on $h join $g $h.$g & done; sleep 0.5; on a cast $g;"
            "wait; done"
        ),
    ),
    "asked": (FAR, "for v in 4 6; do at a ping -$v -c 2 -i 1 b; done"),
    "names": (FAR + "names: ipv6\n", "at a ping -c 1 b; ip -n a -br link"),
}
SCRIPT = """
import json, subprocess
from pathlib import Path
from lab.errors import LabError
from lab.guest.fabric.fabric import Fabric
from lab.guest.interactive import name_everyone
from lab.guest.network import Network
from lab.units import from_plain
for file in sorted(Path(".").glob("*.case")):
    case = json.loads(file.read_text())
    network = from_plain(case["network"], Network)
    name_everyone(network)
    try:
        with Fabric(network) as fabric:
            before = fabric.differences()
            done = subprocess.run(["bash", "-c", case["run"]], capture_output=True, text=True, errors="replace")
            after = fabric.differences()
        out = {"before": before, "said": done.stdout + done.stderr, "after": after}
    except (LabError, OSError) as error:
        out = {"before": [str(error)], "said": "", "after": []}
    file.with_suffix(".out").write_text(json.dumps(out))
"""
WORDS = f"""
at() {{ ip netns exec "$@"; }}
on() {{ host=$1 program=$2; shift 2; ip netns exec $host {sys.executable} $program.py "$@"; }}
"""


@pytest.fixture(scope="module")
def came(kernel: UmlKernel) -> Iterator[dict[str, Any]]:
    """What came of each case, all in one guest."""
    folder = Path(tempfile.mkdtemp(prefix="overlay-"))
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text)
    for name, (topology, run) in CASES.items():
        plain = {"network": to_plain(parse(topology, folder / f"{name}.yaml").network), "run": WORDS + run}
        (folder / f"{name}.case").write_text(json.dumps(plain))
    done = boot(kernel, folder, [sys.executable, "-c", SCRIPT], budget=Budget(wall=850))
    assert done.status == 0, done.console.read_text()[-3000:]
    yield {name: json.loads((folder / f"{name}.out").read_text()) for name in CASES}
    shutil.rmtree(folder)


def times(said: str) -> list[float]:
    """The times of all pings, in ms."""
    return [float(each) for each in re.findall(r"time=([\d.]+) ms", said)]


@pytest.mark.parametrize("name", CASES)
def test_what_the_kernel_tells_is_what_the_file_declares(came: dict[str, Any], name: str) -> None:
    assert came[name]["before"] == []
    cut = "link one, " if name == "active-backup" else None  # the case changes this wire
    assert [each for each in came[name]["after"] if cut is None or not each.startswith(cut)] == []


def test_a_bond_of_two_wires_carries_twice_the_rate(came: dict[str, Any]) -> None:
    """Twice 100 Mbit/s x 1448/1538 = 188.3 Mbit/s. Frames overtake one another, and TCP tolerates this."""
    rate = float(re.findall(r"rate ([\d.]+)", came["balance-rr"]["said"])[0])
    assert rate == pytest.approx(2 * 100 * 1448 / 1538, rel=0.01)


def test_a_bond_moves_to_the_other_wire(came: dict[str, Any]) -> None:
    """Within a second of a wire that loses all frames in both directions, the other one carries the pings."""
    assert len(times(came["active-backup"]["said"])) == 5


def test_both_ends_of_an_802_3ad_bond_agree_on_both_wires(came: dict[str, Any]) -> None:
    said = came["802.3ad"]["said"]
    assert len(times(said)) == 2
    assert "IEEE 802.3ad" in said
    assert "Number of ports: 2" in said
    assert "layer3+4" in said


def test_an_overlay_leaves_room_for_its_headers(came: dict[str, Any]) -> None:
    """RFC 2784, 2890, 2003, 7348: 24, 28, 20 and 50 bytes fewer than 1500; a VLAN's tag takes 4 within a VXLAN only."""
    mtus = dict(re.findall(r" ([a-z0-9.]+)@?\w*: <.* mtu (\d+)", came["tunnels"]["said"]))
    names = ("gre1", "gre2", "ipip1", "vxlan1", "eth0.10", "vxlan1.20")
    assert [int(mtus[name]) for name in names] == [1476, 1472, 1480, 1450, 1500, 1446]


def test_an_overlay_adds_no_time(came: dict[str, Any]) -> None:
    """Two wires of 10 ms each way, and one for the VLAN; 1448 B and 28 of headers fit in 1476."""
    said = came["tunnels"]["said"]
    assert times(said) == pytest.approx([40, 40, 40, 40, 20, 40, 40, 40, 20, 40], abs=0.1)
    assert "message too long, mtu=1476" in said.lower()


def test_declared_routes_are_the_kernels(came: dict[str, Any]) -> None:
    said = came["routes"]["said"]
    assert "10.0.6.2 via 10.0.1.2 dev eth0 proto static advmss 1000 initcwnd 20" in said
    assert re.search(r"10\.0\.6\.0/24 proto static\s+nexthop via 10\.0\.2\.2 dev eth1 weight 3", said)


def test_an_initial_window_is_sent_at_once(came: dict[str, Any]) -> None:
    """20 segments of 1448 B, and then nothing for the rest of an RTT."""
    assert "burst 28960" in came["routes"]["said"]


def test_each_way_has_its_own_delay(came: dict[str, Any]) -> None:
    """There through either router, 10 or 30 ms; back through the slow one, 30 ms."""
    assert times(came["routes"]["said"])[0] in (pytest.approx(40, abs=0.1), pytest.approx(60, abs=0.1))


def test_next_hops_share_flows_by_their_weights(came: dict[str, Any]) -> None:
    """Of 400 flows, three quarters take the hop of weight 3: 300, and the binomial distribution's 99.9 % is +-29."""
    first, second = (int(each) for each in re.findall(r"RX:.*\n\s+\d+\s+(\d+)", came["routes"]["said"]))
    assert first + second >= 400
    assert first == pytest.approx(300, abs=35)


def test_a_vrf_keeps_its_links_to_itself(came: dict[str, Any]) -> None:
    """a and b are in one VRF, c in another, d in none: only the pings from a to b come back, in IPv4 and IPv6."""
    said = came["vrf"]["said"]
    assert times(said) == pytest.approx([10, 10], abs=0.1)


def test_a_router_forwards_a_group_to_its_receivers_alone(came: dict[str, Any]) -> None:
    said = came["multicast"]["said"].splitlines()
    assert sorted(said) == sorted(
        [
            *("b.239.1.2.3 10.0.1.1", "c.239.1.2.3 10.0.1.1", "d.239.1.2.3 nothing"),
            *("b.ff3e::1 fd00:1::1", "c.ff3e::1 fd00:1::1", "d.ff3e::1 nothing"),
        ]
    )


def test_a_first_ping_waits_for_the_hardware_address(came: dict[str, Any]) -> None:
    """One RTT more. A solicitation has its sender's address (RFC 4861, 4.3), so that the other end need not ask."""
    assert times(came["asked"]["said"]) == pytest.approx([200, 100, 200, 100], abs=0.1)


def test_names_can_be_of_ipv6_alone(came: dict[str, Any]) -> None:
    assert "fd00:1::2" in came["names"]["said"]
    assert len(times(came["names"]["said"])) == 1


def test_a_namespace_has_no_device_that_its_network_does_not_name(came: dict[str, Any]) -> None:
    """Tunnels and bonds of the kernel would otherwise add some to every namespace."""
    said = came["names"]["said"].splitlines()
    assert [line.split()[0] for line in said if "<" in line and ">" in line] == ["lo", "eth0@if2"]
