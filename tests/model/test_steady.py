"""Steady transfers and writers that sleep in write(), against what Linux 7.2 did on the same path."""

from typing import Any

import pytest

from lab import model
from lab.guest.task import Traffic
from lab.guest.workload import Bulk, Iperf
from lab.model import Scenario
from lab.units import Duration, Size
from tests.model.scenarios import hop, host, scenario

ALONE = host(gso_max_segs=1)


def path(duration: str = "4 s", delay: str = "100 ms", workload: Traffic | None = None, **changed: Any) -> Scenario:
    sends = workload or Bulk(duration=Duration.of(duration))
    ways = (hop(delay=way, limit=20_000) for way in (delay, "0 s"))
    return scenario(*ways, writer=sends.writer(), reader=sends.reader(), **changed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sndbuf", "rcvbuf", "measured"),
    [  # Mbit/s acknowledged from 2 to 4 s of the lab's own transfer
        (4 << 20, 12_500_000, 230.159648),
        (6 << 20, 6 << 20, 317.620288),
        (6 << 20, 12_500_000, 335.542528),
        (24_000_000, 12_500_000, 632.48384),
        (24_000_000, 18_750_000, 941.482444733),
    ],
)
def test_the_smallest_of_both_ends_and_the_link_counts(sndbuf: int, rcvbuf: int, measured: float) -> None:
    predicted = model.goodput_steady(path(sndbuf=sndbuf, rcvbuf=rcvbuf))
    assert predicted.number / 1e6 == pytest.approx(measured, rel=5e-6)


@pytest.mark.long
def test_a_window_that_fills_the_path_leaves_no_gap() -> None:
    small, large = (path(delay=delay, sndbuf=60 << 20, rcvbuf=4_973_107) for delay in ("100 ms", "20 ms"))
    assert model.idle_share(small).number == pytest.approx(0.7328, abs=0.001)
    assert model.idle_share(large).number == pytest.approx(0, abs=1e-4)


def test_a_segment_alone_takes_a_buffer_for_itself() -> None:
    buffer = 963 * 2280
    full, alone = (path(sndbuf=buffer, sender=sender) for sender in (host(), ALONE))
    assert model.goodput_steady(alone).number == pytest.approx(0.67 * buffer / 2280 * 1448 * 8 / 0.1, rel=0.03)
    assert model.goodput_steady(full).number > 1.4 * model.goodput_steady(alone).number


@pytest.mark.long
@pytest.mark.parametrize(("effort", "measured"), [("0 s", 70.957), ("280 us", 92.804)])
def test_a_writer_that_takes_its_time_keeps_the_buffer_fuller(effort: str, measured: float) -> None:
    bulk = Bulk(block=Size.of("128 KiB"), effort=Duration.of(effort))
    predict, workload = (model.goodput_bulk, bulk) if bulk.effort else (model.goodput_iperf, Iperf())
    predicted = predict(path(workload=workload, sndbuf=963 * 2280, sender=ALONE))
    assert predicted.number / 1e6 == pytest.approx(measured, rel=0.002)


def test_a_block_that_was_begun_is_written_to_its_end() -> None:
    done = model.transfer(path("1 s"))
    assert done.total >= done.written
    assert done.total % (1 << 20) == 0
    assert done.acked(0.0) == 0
    assert done.acked(done.drained + 1) == done.total
