"""Mininet as a fabric: its own command line builds our networks, and nothing of Mininet's stays behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.guest.workload import Ping
from lab.machine.kernel import UmlKernel, boot
from lab.record.record import Record
from lab.spec import topology
from lab.units import to_plain

pytestmark = pytest.mark.guest

ROOT = Path(__file__).parents[3]
LAN = """
about: Three hosts on two switches, one of them far away.
hosts: [near, too, far]
switches: [left, rather-far-to-the-right]
links:
  a: {ends: [near, left], rate: 100 Mbit/s}
  b: {ends: [too, left], rate: 100 Mbit/s}
  trunk: {ends: [left, rather-far-to-the-right], rate: 10 Gbit/s, delay: 7 ms}
  c: {ends: [far, rather-far-to-the-right], rate: 100 Mbit/s, forward: {delay: 3 ms}}
"""
# Builds the network, pings, takes it down, and prints what is left of everything that Mininet has or changes.
SCRIPT = """
import json, subprocess, sys
from pathlib import Path
from lab.guest.fabric import choose
from lab.guest.network import Network
from lab.units import from_plain

def state():
    limits = ["net/core/rmem_max", "net/core/wmem_max", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "fs/file-max",
              "net/core/netdev_max_backlog", "net/ipv4/neigh/default/gc_thresh3", "kernel/pty/max"]
    links = subprocess.run(["ip", "-j", "link"], capture_output=True, text=True).stdout
    shells = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if b"mininet:" in path.read_bytes()]
    return {"limits": [Path("/proc/sys", name).read_text() for name in limits], "links": len(json.loads(links)),
            "spaces": sorted(path.name for path in Path("/run/netns").iterdir()), "shells": len(shells)}

before = state()
found = {}
try:
    with choose("mininet")(from_plain(json.load(open("network.json")), Network), "run7.") as fabric:
        rtt = fabric.net["near"].cmd("ping -c1 10.0.1.3")
        found = {"differences": fabric.differences(), "during": state(), "rtt": rtt}
        if len(sys.argv) > 1:
            raise RuntimeError(sys.argv[1])
except RuntimeError:
    pass
json.dump({**found, "before": before, "after": state()}, open("found", "w"))
"""


@pytest.mark.needs("mn", "ip", "ping")
@pytest.mark.parametrize("failure", [[], ["something fails"]])
def test_a_network_with_switches_comes_and_goes(kernel: UmlKernel, tmp_path: Path, failure: list[str]) -> None:
    network = topology.parse(LAN, Path("lan.yaml")).network
    (tmp_path / "network.json").write_text(json.dumps(to_plain(network)))
    result = boot(kernel, tmp_path, [sys.executable, "-c", SCRIPT, *failure])
    assert result.status == 0, result.console.read_text()
    found = json.loads((tmp_path / "found").read_text())
    assert found["differences"] == []
    assert found["during"]["spaces"] == [
        f"run7.{name}" for name in ("far", "left", "near", "rather-far-to-the-right", "too", "wires")
    ]
    assert found["during"]["limits"] == found["before"]["limits"], "Mininet raises them and never puts them back"
    assert "time=17.0" in found["rtt"], "7 ms there, 7 ms and 3 ms back, and the wires' own time"
    assert found["after"] == found["before"]


def test_a_host_alone_needs_no_wires(perform: Callable[..., Record]) -> None:
    record = perform("loopback", Ping(client="host", server="host"), fabric="mininet")
    assert record.invalid == ()
    assert "1 received" in record.text("ping.txt")


@pytest.mark.needs("mn", "ip", "ping")
def test_mininets_own_command_loads_our_topologies(kernel: UmlKernel, tmp_path: Path) -> None:
    command = "mn --custom {}/topologies/mininet.py --topo lab,shared-bottleneck --test pingall; ip netns; ip link"
    result = boot(kernel, tmp_path, ["bash", "-c", command.format(ROOT)])
    said = result.console.read_text()
    assert "0% dropped (12/12 received)" in said
    assert "wires" not in said.partition("Results")[2], "no namespace stays"
    assert "Traceback" not in said
