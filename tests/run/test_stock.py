"""A distribution's kernel, unmodified, performs the same trials: in counted instructions, to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.kernel.vm import qemu, stock
from lab.metric import bulk_goodput
from lab.probe import Capture
from lab.record.record import Record
from lab.regress.identity import parting
from lab.run.saturation import SATURATED
from lab.units import Duration
from lab.workload import Bulk

pytestmark = [
    pytest.mark.guest,
    pytest.mark.skipif(shutil.which(qemu.PROGRAM) is None, reason="qemu-system-x86 is not installed"),
]

Perform = Callable[..., Record]


@pytest.fixture(scope="module")
def shipped() -> stock.Stock:
    """The newest kernel that was fetched, else the newest that the machine's mirror has."""
    return next(iter(stock.installed()), None) or stock.fetch(None, print)


def test_a_transfer_is_the_networks_and_the_same_to_the_byte(
    perform: Perform, shipped: stock.Stock, tmp_path: Path
) -> None:
    first, second = (
        perform(
            "two-hosts",
            Bulk(duration=Duration.of("500 ms")),
            [Capture(node="sender")],
            links={"path": {"rate": "50 Mbit/s"}},
            ground=shipped,
            clock="virtual",
            into=tmp_path / name,
        )
        for name in ("first", "second")
    )
    assert first.invalid == ()
    assert shipped.release in first.environment["kernel"]
    assert first.environment["cpu_busy"] < SATURATED
    assert bulk_goodput()(first).number == pytest.approx(50e6 * 1448 / 1538, rel=0.002)
    assert parting(first, second) is None


def test_a_flow_faster_than_the_cpu_does_not_count(perform: Perform, shipped: stock.Stock, tmp_path: Path) -> None:
    record = perform(
        "two-hosts",
        Bulk(duration=Duration.of("100 ms")),
        links={"path": {"rate": "40 Gbit/s", "delay": "0 ms"}},
        ground=shipped,
        clock="virtual",
        into=tmp_path / "results",
    )
    assert any("CPU was busy" in reason for reason in record.invalid)
