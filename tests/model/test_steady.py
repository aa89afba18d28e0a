"""Steady transfers and writers that sleep in write(), against what Linux 7.2 did on the same path."""

from dataclasses import replace

import pytest

from lab import model
from lab.model import End, Hop, Path
from lab.units import Duration, Rate, Size

RATE = Rate.of("1 Gbit/s")
ALONE = End(gso_max_segs=1)


def path(duration: str = "4 s", delay: str = "100 ms", **changed: object) -> Path:
    there, back = (Hop(RATE, Duration.of(way), Size(1500), 20_000, 0.0) for way in (delay, "0 s"))
    plain = Path((there,), (back,), duration=Duration.of(duration), write_size=1 << 20, rcvlowat=16384, sendfile=True)
    return replace(plain, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sndbuf", "rcvbuf", "measured"),
    [  # Mbit/s acknowledged from 2 to 4 s of the lab's own transfer
        (4 << 20, 12_500_000, 230.160),
        (6 << 20, 6 << 20, 316.971),
        (6 << 20, 12_500_000, 335.543),
        (24_000_000, 12_500_000, 632.131),
        (24_000_000, 18_750_000, 941.482),
    ],
)
def test_the_smallest_of_both_ends_and_the_link_counts(sndbuf: int, rcvbuf: int, measured: float) -> None:
    predicted = model.goodput_steady(path(sndbuf_max=sndbuf, rcvbuf_max=rcvbuf))
    assert predicted.number / 1e6 == pytest.approx(measured, rel=0.002)


def test_a_window_that_fills_the_path_leaves_no_gap() -> None:
    small, large = (path(delay=delay, sndbuf_max=60 << 20, rcvbuf_max=4_973_107) for delay in ("100 ms", "20 ms"))
    assert model.idle_share(small).number == pytest.approx(0.7328, abs=0.001)
    assert model.idle_share(large).number == pytest.approx(0, abs=1e-4)


def test_a_segment_alone_takes_a_buffer_for_itself() -> None:
    buffer = 963 * 2280
    full, alone = (path(sndbuf_max=buffer, sender=sender) for sender in (End(), ALONE))
    assert model.goodput_steady(alone).number == pytest.approx(0.67 * buffer / 2280 * 1448 * 8 / 0.1, rel=0.03)
    assert model.goodput_steady(full).number > 1.4 * model.goodput_steady(alone).number


@pytest.mark.parametrize(("effort", "measured"), [("0 s", 70.957), ("280 us", 92.804)])
def test_a_writer_that_takes_its_time_keeps_the_buffer_fuller(effort: str, measured: float) -> None:
    written = path(
        "10 s", sndbuf_max=963 * 2280, sender=ALONE, write_size=128 * 1024, cpu_per_write=Duration.of(effort)
    )
    iperf = replace(written, rcvlowat=0, sendfile=False, header_bytes=60)
    predicted = model.goodput_bulk(written) if written.cpu_per_write else model.goodput_iperf(iperf)
    assert predicted.number / 1e6 == pytest.approx(measured, rel=0.002)


def test_a_block_that_was_begun_is_written_to_its_end() -> None:
    done = model.transfer(path("1 s"))
    assert done.total >= done.written
    assert done.total % (1 << 20) == 0
    assert done.acked(0.0) == 0
    assert done.acked(done.drained + 1) == done.total
