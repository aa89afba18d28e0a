"""What the kernel does is compared with what was asked for: a network that somebody else changed is noticed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab.kernel import UmlKernel, boot
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import to_plain

pytestmark = [pytest.mark.guest, pytest.mark.needs("ip", "tc", "ethtool")]

# Builds the network, spoils it, and prints what is found different before and after.
SCRIPT = """
import json, subprocess, sys
from lab.fabric.fabric import Fabric
from lab.spec.network import Network
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
    ],
)
def test_a_change_behind_our_back_is_noticed(kernel: UmlKernel, tmp_path: Path, command: str, noticed: str) -> None:
    before, after, left = spoiled(kernel, tmp_path, command)
    assert before == []
    assert any(noticed in difference for difference in after), after
    assert left == "", "no namespace stays"


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
    ],
)
def test_what_can_be_asked_for_reads_back(kernel: UmlKernel, tmp_path: Path, changes: dict[str, object]) -> None:
    before, after, _ = spoiled(kernel, tmp_path, "true", **changes)
    assert before == after == []
