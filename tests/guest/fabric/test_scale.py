"""Many hosts on a switch come up, carry frames, and go away without a trace."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel, boot
from lab.spec import topology
from lab.units import Size, to_plain

pytestmark = [pytest.mark.guest, pytest.mark.needs("ip", "ping")]

# Without IPv6: what it reports to multicast routers, a switch sends to all, a million frames that only take time.
LINK = "rate: 1 Gbit/s, mtu: 1200 B"
# A network that leaves the memory of a dead one behind would not fit twice.
SCRIPT = """
import json, subprocess, sys, time
from pathlib import Path
from lab.guest.fabric.fabric import Fabric
from lab.guest.network import Network
from lab.units import from_plain

def free():
    time.sleep(5)  # virtual: the kernel takes namespaces down when it has time
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(lines["MemFree"].split()[0])

def ping(source, *options):
    argv = ["ip", "netns", "exec", source, "ping", "-n", *options]
    return subprocess.run(argv, capture_output=True, text=True).stdout

network = from_plain(json.load(open("network.json")), Network)
before, found = free(), []
for _ in range(2):
    with Fabric(network) as fabric:
        said = ping("h1", "-c2", network.address(sys.argv[1])) + ping("h50", "-c2", network.address("h7"))
        spaces = len(list(Path("/run/netns").iterdir()))
    links = json.loads(subprocess.run(["ip", "-j", "link"], capture_output=True, text=True).stdout)
    found.append({"said": said, "spaces": spaces, "left": [str(path) for path in Path("/run/netns").iterdir()],
                  "veths": [link["ifname"] for link in links if link["ifname"].startswith(("w", "eth"))],
                  "lost": before - free()})
json.dump(found, open("found", "w"))
"""


@pytest.mark.parametrize("count", [120, pytest.param(1000, marks=pytest.mark.nightly)])
def test_many_hosts_come_and_go(kernel: UmlKernel, tmp_path: Path, count: int) -> None:
    hosts = [f"h{number}" for number in range(1, count + 1)]
    wide = "{h1: {addresses: [10.0.0.1/16]}, switch: {}}"
    links = [f"  l{host}: {{ends: {wide if host == 'h1' else f'[{host}, switch]'}, {LINK}}}" for host in hosts]
    text = "\n".join(["about: Many.", f"hosts: [{', '.join(hosts)}]", "switches: [switch]", "links:", *links])
    network = topology.parse(text, Path("many.yaml")).network
    (tmp_path / "network.json").write_text(json.dumps(to_plain(network)))
    result = boot(kernel, tmp_path, [sys.executable, "-c", SCRIPT, hosts[-1]], memory=Size.of("768 MiB"))
    assert result.status == 0, result.console.read_text()[-2000:]
    for found in json.loads((tmp_path / "found").read_text()):
        assert found["said"].count(" 0% packet loss") == 2
        assert found["spaces"] == count + 2, "the switch's and the wires', too"
        assert found["left"] == found["veths"] == []
        assert found["lost"] < 64 << 10, "KiB of 768 MiB are not free again"
