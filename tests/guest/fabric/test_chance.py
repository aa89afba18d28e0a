"""What wires lose by chance: the same frames on every kernel, next to any other link; others with another seed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.guest import outputs
from lab.guest.fabric import FABRICS
from lab.guest.workload import Ping
from lab.machine.kernel import Kernel, choose
from lab.record.record import Record
from lab.units import Duration
from tests.kinds import Perform

pytestmark = pytest.mark.guest

COUNT = 1000
PING = Ping(count=COUNT, interval=Duration.of("20 ms"))  # a constant rate: a loss delays no later frame
TOPOLOGY = """
about: Loses 10 % there and 5 % back; too small for IPv6, whose first words come when a kernel's own chance has it.
hosts: [sender, receiver{hosts}]
links:{before}
  path:
    ends: [sender, receiver]
    rate: 100 Mbit/s
    delay: 10 ms
    mtu: 1000 B
    forward: {{loss: 10 %}}
    back: {{loss: 5 %}}
"""
ANOTHER = "\n  another: {ends: [sender, third], rate: 100 Mbit/s, loss: 10 %}"


@pytest.fixture
def lossy(tmp_path: Path) -> str:
    """A topology whose wire loses frames both ways."""
    (tmp_path / "lossy.yaml").write_text(TOPOLOGY.format(hosts="", before=""))
    return str(tmp_path / "lossy.yaml")


@pytest.fixture
def wider(tmp_path: Path) -> str:
    """The same with one more lossy link, which is made first."""
    (tmp_path / "wider.yaml").write_text(TOPOLOGY.format(hosts=", third", before=ANOTHER))
    return str(tmp_path / "wider.yaml")


@pytest.fixture(scope="module")
def older() -> Kernel:
    """Linux 6.12, where it is built."""
    try:
        return choose("uml", "6.12")
    except LabError as missing:
        pytest.skip(str(missing))


def lost(record: Record) -> set[int]:
    """The pings that got no answer: either frame may be lost."""
    assert record.invalid == ()
    answered = {int(found) for found in re.findall(r"icmp_seq=(\d+).*time=", record.text(outputs.PING))}
    missing = set(range(1, COUNT + 1)) - answered
    assert 0.09 * COUNT < len(missing) < 0.21 * COUNT, "1 - 0.9 x 0.95 = 14.5 %, and 6 standard deviations"
    return missing


def test_kernels_lose_the_same_frames(perform: Perform, lossy: str, older: Kernel) -> None:
    assert lost(perform(lossy, PING)) == lost(perform(lossy, PING, on=older))


def test_another_link_deals_no_loss_anew(perform: Perform, lossy: str, wider: str) -> None:
    assert lost(perform(lossy, PING)) == lost(perform(wider, PING))


@pytest.mark.parametrize("fabric", FABRICS[1:])
def test_fabrics_lose_the_same_frames(perform: Perform, lossy: str, fabric: str) -> None:
    assert lost(perform(lossy, PING)) == lost(perform(lossy, PING, fabric=fabric))


def test_another_seed_loses_other_frames(perform: Perform, lossy: str) -> None:
    """Of two independent sets of about 145 of 1,000, about 21 are common."""
    first, second = (lost(perform(lossy, PING, seed=seed)) for seed in (1, 2))
    assert len(first & second) < 50


def test_the_wires_say_their_seeds(perform: Perform, lossy: str) -> None:
    """Each direction has its own."""
    before = perform(lossy, PING).json(outputs.QDISCS_BEFORE)
    seeds = [each["options"]["seed"] for each in before if each["node"] == "path"]
    assert len(set(seeds)) == 2
