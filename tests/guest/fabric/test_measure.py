"""Measured in virtual time, where nothing disturbs it, a wire has exactly the delay and the rate of its file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import UmlKernel, boot
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import to_plain

pytestmark = pytest.mark.guest

SCRIPT = """
import json
from lab.guest.fabric.fabric import Fabric
from lab.guest.fabric.measure import measure
from lab.guest.network import Network
from lab.units import from_plain
with Fabric(from_plain(json.load(open("network.json")), Network)) as fabric:
    json.dump(measure(fabric), open("found", "w"))
"""
GRAIN = 2e-9  # seconds: of the clock, there and back


def measured(kernel: UmlKernel, folder: Path, topology: str, **path: Any) -> list[dict[str, Any]]:
    network = find.topology(topology).resolve(Changes(links={"path": path} if path else {}))
    (folder / "network.json").write_text(json.dumps(to_plain(network)))
    result = boot(kernel, folder, [sys.executable, "-c", SCRIPT])
    assert result.status == 0, result.console.read_text()
    found: list[dict[str, Any]] = json.loads((folder / "found").read_text())
    assert len(found) == 2 * len(network.links)
    return found


@pytest.mark.parametrize(
    ("topology", "path"),
    [
        ("symmetric-1g", {}),
        ("symmetric-1g", {"rate": "10 Mbit/s", "delay": "200 ms"}),
        ("symmetric-1g", {"rate": "40 Gbit/s"}),
        ("symmetric-1g", {"rate": "10 Mbit/s", "shaper": "nic"}),
        ("symmetric-1g", {"limit": 20}),
        ("delay-100ms", {}),
        ("asymmetric-mtu", {}),
        ("shared-bottleneck", {}),
    ],
)
def test_a_wire_is_what_its_file_says(kernel: UmlKernel, tmp_path: Path, topology: str, path: dict[str, Any]) -> None:
    for way in measured(kernel, tmp_path, topology, **path):
        assert way["delay"] == pytest.approx(way["delay_wanted"], abs=GRAIN)
        assert way["frames"] >= 8
        assert way["burst"] == pytest.approx(way["burst_wanted"], abs=GRAIN, rel=0.002)  # a tbf counts tokens in ticks


def test_without_a_rate_there_is_none_to_measure(kernel: UmlKernel, tmp_path: Path) -> None:
    for way in measured(kernel, tmp_path, "two-hosts"):
        assert way["delay"] == pytest.approx(1e-3, abs=GRAIN)
        assert (way["frames"], way["burst"]) == (0, None)


def test_lost_frames_take_no_time(kernel: UmlKernel, tmp_path: Path) -> None:
    lossy, _ = measured(kernel, tmp_path, "symmetric-1g", forward={"loss": "20 %"})
    assert 700 < lossy["frames"] < 900
    assert lossy["burst"] == pytest.approx(lossy["burst_wanted"], abs=GRAIN, rel=0.001)


def test_frames_that_move_at_will_are_not_expected_anywhere(kernel: UmlKernel, tmp_path: Path) -> None:
    for change in ({"jitter": "1 ms", "delay": "5 ms"}, {"reorder": "25 %", "delay": "5 ms"}):
        for way in measured(kernel, tmp_path, "symmetric-1g", **change):
            assert (way["delay_wanted"], way["burst_wanted"]) == (None, None)
