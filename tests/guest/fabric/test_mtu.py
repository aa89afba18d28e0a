"""Links whose MTU changes while a workload runs: what the sending node then sends, and what its routes have."""

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

pytestmark = [pytest.mark.guest, pytest.mark.needs("ip", "ping")]

CHANGES = "changes: [{at: 1 s, mtu: 1280 B}, {at: 3 s, mtu: 1500 B}]"
NEAR = f"""
about: Two hosts with one cable, whose MTU is smaller for two seconds.
hosts: [a, b]
links:
  path: {{ends: [a, b], {CHANGES}}}
"""
FAR = f"""
about: Two hosts behind a router. Both links change, and one host has a route with an even smaller MTU.
hosts:
  a:
  b: {{routes: [{{to: a, mtu: 1000 B}}]}}
routers: [r]
links:
  near: {{ends: [a, r]}}
  last: {{ends: [r, b], {CHANGES}}}
"""
SCRIPT = """
import json, subprocess, time
from pathlib import Path
from lab.guest.fabric import timeline
from lab.guest.fabric.fabric import Fabric
from lab.guest.interactive import name_everyone
from lab.guest.network import Network
from lab.guest.testbed import Child
from lab.units import from_plain
for file in sorted(Path(".").glob("*.case")):
    network = from_plain(json.loads(file.read_text()), Network)
    name_everyone(network)
    said = []
    with Fabric(network) as fabric:
        before = fabric.differences()
        start = time.monotonic() + 0.001
        player = timeline.Player(fabric.spaces, round(start * 1e9))
        child = Child.fork(fabric.namespace("a"), lambda: player.play(file.with_suffix(".timeline")))
        for phase in range(3):
            time.sleep(start + 2 * phase - time.monotonic())
            for way in (["a", "b"], ["b", "a"]):
                for version in ("-4", "-6"):
                    ping = ["ping", version, "-M", "do", "-c", "1", "-W", "0.1", "-s", "1400", way[1]]
                    done = subprocess.run(["ip", "netns", "exec", way[0], *ping], capture_output=True, text=True)
                    said.append(done.stdout + done.stderr)
        child.stop("the changes")
        after = fabric.differences()
    played = json.loads(file.with_suffix(".timeline").read_text())
    file.with_suffix(".out").write_text(json.dumps({"said": said, "before": before, "after": after, **played}))
"""


@pytest.fixture(scope="module")
def came(kernel: UmlKernel) -> Iterator[dict[str, Any]]:
    """What came of both topologies, in one guest."""
    folder = Path(tempfile.mkdtemp(prefix="mtu-"))
    for name, text in (("near", NEAR), ("far", FAR)):
        (folder / f"{name}.case").write_text(json.dumps(to_plain(parse(text, folder / f"{name}.yaml").network)))
    done = boot(kernel, folder, [sys.executable, "-c", SCRIPT], budget=Budget(wall=300))
    assert done.status == 0, done.console.read_text()[-3000:]
    yield {name: json.loads((folder / f"{name}.out").read_text()) for name in ("near", "far")}
    shutil.rmtree(folder)


def mtus(said: str) -> list[int]:
    """The MTUs with which the kernel refused a packet."""
    return [int(each) for each in re.findall(r"mtu[ =:]+(\d+)", said)]


@pytest.mark.parametrize("name", ["near", "far"])
def test_every_change_is_read_back(came: dict[str, Any], name: str) -> None:
    out = came[name]
    assert out["before"] + out["differences"] + out["after"] == []
    assert [each["mtu"] for each in out["done"] if each["direction"] == "forward"] == ["1280 B", "1500 B"]


def test_a_change_holds_for_neighbours(came: dict[str, Any]) -> None:
    """1400 B and headers pass before and after it, and not meanwhile, in both directions and IP versions."""
    found = [mtus(each) for each in came["near"]["said"]]
    assert found == [[]] * 4 + [[1280]] * 4 + [[]] * 4


def test_a_change_holds_on_the_last_hop_and_leaves_a_smaller_route_alone(came: dict[str, Any]) -> None:
    """From a, the router tells the MTU. It is learned for ten minutes, so a keeps it. From b, its route has 1000 B."""
    found = [mtus(each) for each in came["far"]["said"]]
    assert found[:2] == [[], []]
    assert found[4:6] == [[1280], [1280]]
    assert [found[number] for number in (2, 6, 10)] == [[1000]] * 3
