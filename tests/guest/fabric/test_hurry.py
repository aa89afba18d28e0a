"""A hurried network does not wait for the kernel's next look at its carriers, and carries the first frame too."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel, boot
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import to_plain

pytestmark = [pytest.mark.guest, pytest.mark.needs("ping")]

# Virtual time passes only while something waits, so how long it takes to build is how long the kernel is waited for.
SCRIPT = """
import json, subprocess, time
from lab.guest.fabric import choose
from lab.guest.network import Network
from lab.units import from_plain
network = from_plain(json.load(open("network.json")), Network)
found = []
for hurried in (False, False, True, True):
    begun = time.monotonic()
    with choose("netlink")(network, hurried=hurried) as fabric:
        waited = time.monotonic() - begun
        ping = ["ping", "-n", "-c1", "-W1", network.address("receiver")]
        with fabric.namespace("sender").entered():
            lost = subprocess.run(ping, stdout=subprocess.DEVNULL).returncode
    found.append([hurried, waited, lost])
json.dump(found, open("found", "w"))
"""


def test_a_hurried_network_is_there_at_once_and_loses_nothing(kernel: UmlKernel, tmp_path: Path) -> None:
    (tmp_path / "network.json").write_text(json.dumps(to_plain(find.topology("delay-10ms").resolve(Changes()))))
    result = boot(kernel, tmp_path, [sys.executable, "-c", SCRIPT])
    assert result.status == 0, result.console.read_text()
    found = json.loads((tmp_path / "found").read_text())
    assert [lost for _, _, lost in found] == [0, 0, 0, 0]
    at_leisure, hurried = ([waited for hurry, waited, _ in found if hurry is wanted] for wanted in (False, True))
    assert max(at_leisure) > 0.5, "the kernel looks once a second"
    assert max(hurried) < 0.1
