"""What the kernel does is compared with what was asked for: a network that somebody else changed is noticed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel, boot
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import to_plain

pytestmark = [pytest.mark.guest, pytest.mark.needs("ip", "tc", "ethtool", "sysctl")]

# Builds the network, spoils it, and prints what is found different before and after.
SCRIPT = """
import json, subprocess, sys
from lab.guest.fabric.fabric import Fabric
from lab.guest.network import Network
from lab.units import from_plain
with Fabric(from_plain(json.load(open("network.json")), Network)) as fabric:
    before = fabric.differences()
    subprocess.run(sys.argv[1], shell=True, check=True)
    after = fabric.differences()
json.dump([before, after, subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout], open("found", "w"))
"""


def spoiled(kernel: UmlKernel, folder: Path, command: str, **changes: object) -> tuple[list[str], list[str], str]:
    network = find.topology("delay-10ms").resolve(Changes(**changes))  # type: ignore[arg-type]
    (folder / "network.json").write_text(json.dumps(to_plain(network)))
    result = boot(kernel, folder, [sys.executable, "-c", SCRIPT, command])
    assert result.status == 0, result.console.read_text()
    before, after, left = json.loads((folder / "found").read_text())
    return before, after, left


@pytest.mark.parametrize(
    ("command", "noticed"),
    [
        ("tc -n wires qdisc change dev w0b root netem delay 20ms rate 1gbit 24 limit 77", "delay is 20 ms, not 10 ms"),
        ("tc -n wires qdisc change dev w0b root netem delay 10ms rate 2gbit 24", "rate is 2 Gbit/s, not 1 Gbit/s"),
        ("tc -n wires qdisc change dev w0b root netem delay 10ms rate 1gbit", "overhead is 0 B, not 24 B"),
        ("tc -n wires qdisc change dev w0a root netem rate 1gbit 24 loss 1%", "loss is 0.0"),
        ("tc -n wires qdisc change dev w0a root netem rate 1gbit 24 limit 10", "limit is 10"),
        ("tc -n wires qdisc del dev w0a root", "link path, back: rate is None, not 1 Gbit/s"),
        ("ip netns exec sender ethtool -K eth0 gso on tso on", "offloads is"),
        ("ip netns exec wires ethtool -K w0a gro on", "the wire's offloads is"),
        ("ip -n receiver link set eth0 mtu 1400", "MTU is 1400, not 1500"),
        ("ip netns exec sender sysctl -qw net.ipv4.tcp_timestamps=0", "net.ipv4.tcp_timestamps is ['0'], not ['1']"),
        ("ip -n sender link set eth0 address 02:00:00:00:00:99", "MAC is 02:00:00:00:00:99"),
        ("ip -n sender address del fd00:1::1/64 dev eth0", "eth0 addresses is 10.0.1.1/24, not 10.0.1.1/24"),
        ("ip -n receiver route change 10.0.1.0/24 dev eth0 mtu 1400", "receiver: route to 10.0.1.0/24 is"),
        ("ip -n sender neighbour del 10.0.1.2 dev eth0", "sender: known neighbours is 1, not 2"),
    ],
)
def test_a_change_behind_our_back_is_noticed(kernel: UmlKernel, tmp_path: Path, command: str, noticed: str) -> None:
    before, after, left = spoiled(kernel, tmp_path, command)
    assert before == []
    assert any(noticed in difference for difference in after), after
    assert left == "", "no namespace stays"


SEND = f"""ip netns exec sender {sys.executable} -c '
import socket
{{}}
'"""
DATAGRAMS = """s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(17, 103, 1400)
s.bind(("10.0.1.1", 40000))
s.sendto(bytes(14000), ("10.0.1.2", 9))"""
RAW = """s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.setsockopt(263, 15, 1)
s.bind(("eth0", 0))
frame = bytes.fromhex("020000000102020000000101") + bytes.fromhex("0800") + bytes.fromhex(
    "4500" "0bc8" "00014000401100000a0001010a000102" "9c40" "0009" "0bb4" "0000") + bytes(2988)
s.send(bytes([1, 5]) + (42).to_bytes(2, "little") + (1475).to_bytes(2, "little") + bytes([34, 0, 6, 0]) + frame)"""


@pytest.mark.parametrize(
    ("command", "count", "first"),
    [
        (
            "ip netns exec sender ethtool -K eth0 tx-udp-segmentation on; " + SEND.format(DATAGRAMS),
            "link path, forward: 10 segments in frames above the MTU of 1500 B",
            "14042 B of UDP, 10.0.1.1:40000 to 10.0.1.2:9",
        ),
        (
            SEND.format(RAW),
            "link path, forward: 2 segments in frames above the MTU of 1500 B",
            "1517 B of UDP, 10.0.1.1:40000 to 1",
        ),
        ("tc -n wires filter del dev w0b ingress prio 1", "link path, back: nothing counts the frames above", ""),
    ],
    ids=["super-packet", "three-bytes-more", "no-counter"],
)
def test_a_wire_counts_what_is_above_its_mtu(
    kernel: UmlKernel, tmp_path: Path, command: str, count: str, first: str
) -> None:
    """The wire itself, and not only the settings of its ends, tells that it carried frames."""
    before, after, _ = spoiled(kernel, tmp_path, command)
    assert before == []
    assert any(each.startswith(count) for each in after), after
    assert any(first in each for each in after), after


@pytest.mark.parametrize(
    "changes",
    [
        {"links": {"path": {"rate": "100 Gbit/s", "mtu": "9000 B"}}},
        {"links": {"path": {"rate": "8 bit/s", "jitter": "1 ms", "delay": "2 ms", "loss": "0.1 %", "limit": 3}}},
        {"links": {"path": {"shaper": "nic", "delay": "1 ms"}}},
        {"links": {"path": {"delay": "1 ms", "reorder": "1 %", "duplicate": "2 %"}}},
        {"hosts": {"sender": {"offloads": {"gro": True, "gso": True, "tso": True}, "coalescing": "20 us"}}},
        {"hosts": {"sender": {"gso_max_segs": 1}}},
        {"links": {"path": {"back": {"mtu": "500 B"}}}},
        {"links": {"path": {"ends": {"sender": {"advmss": "700 B"}}}}},
    ],
)
def test_what_can_be_asked_for_reads_back(kernel: UmlKernel, tmp_path: Path, changes: dict[str, object]) -> None:
    before, after, _ = spoiled(kernel, tmp_path, "true", **changes)
    assert before == after == []
