"""What older kernels do otherwise, beside what Linux 6.1.192 and 6.12.117 did on the same path."""

from dataclasses import replace

import pytest

from lab.guest.workload import Bulk, Iperf
from lab.model import KernelTraits, ModelError, Scenario, goodput_bulk, goodput_iperf
from lab.model.packet import Segment
from lab.model.receiver import Receiver
from lab.model.sender import Sender, Skb
from lab.model.skb import overhead
from lab.model.tuning import Tuning
from lab.model.writer import writes
from lab.units import Duration, Size
from tests.model.scenarios import hop, scenario, tuned

FULL = 1448
VERSIONS = ((6, 1), (6, 12), (7, 2))


def bulk(rate: str, delay: str, seconds: str, version: tuple[int, int], **buffers: int) -> Scenario:
    workload = Bulk(duration=Duration.of(seconds))
    return scenario(
        hop(rate, delay),
        writer=workload.writer(),
        reader=workload.reader(),
        kernel=KernelTraits(version),
        **buffers,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("version", "measured"), list(zip(VERSIONS, (160_015_755.2, 159_933_696.8, 159_934_475.7), strict=True))
)
def test_a_receive_buffer_that_grows(version: tuple[int, int], measured: float) -> None:
    found = goodput_bulk(bulk("200 Mbit/s", "20 ms", "1 s", version)).number
    assert found == pytest.approx(measured, rel=2e-5)


@pytest.mark.parametrize(
    ("version", "measured"), list(zip(VERSIONS, (90_666_569.7, 90_646_745.6, 90_652_232.4), strict=True))
)
def test_a_send_buffer_that_limits(version: tuple[int, int], measured: float) -> None:
    found = goodput_bulk(bulk("200 Mbit/s", "20 ms", "1 s", version, sndbuf=300_000)).number
    assert found == pytest.approx(measured, rel=2e-5)


@pytest.mark.parametrize(
    ("version", "measured"), list(zip(VERSIONS, (4_679_542.3, 5_197_414.3, 5_197_414.3), strict=True))
)
def test_a_send_buffer_smaller_than_what_it_starts_with_elsewhere(version: tuple[int, int], measured: float) -> None:
    found = goodput_bulk(bulk("20 Mbit/s", "40 ms", "2 s", version, sndbuf=38_565, rcvbuf=170_008)).number
    assert found == pytest.approx(measured, rel=1e-4)


def test_the_head_of_an_skb_was_a_power_of_two() -> None:
    heads = [overhead(KernelTraits(version)) for version in ((6, 1), (6, 2), (6, 3), (7, 2))]
    assert heads == [512 + 256, 512 + 256, 576 + 256, 576 + 256]
    assert overhead(KernelTraits((6, 1), max_header=176)) == 1024 + 256


def tuning(version: tuple[int, int], rtt_us: int = 20_000) -> Tuning:
    """One that has read 10 segments in a round trip so far."""
    return Tuning(version, FULL, 10 * FULL, rtt_us=rtt_us << 3)


def test_a_window_had_a_cushion_and_forgot_what_was_unread() -> None:
    read, unread = 30 * FULL, 5 * FULL
    plain, cushioned = 2 * (25 * FULL), 2 * (25 * FULL) + 16 * FULL
    assert tuning((7, 2)).rcvbuf_grow(20_000, read, unread) == plain + 2 * plain * 15 // 10
    assert tuning((6, 12)).rcvbuf_grow(20_000, read, unread) == cushioned + 2 * (cushioned * 15 // 10)
    all_read = 2 * read + 16 * FULL
    assert tuning((6, 1)).rcvbuf_grow(20_000, read, unread) == all_read + 2 * (all_read * 20 // 10)


def test_a_short_round_trip_bounds_the_growth_since_it_counts() -> None:
    read = 30 * FULL
    assert tuning((7, 2), rtt_us=500).rcvbuf_grow(20_000, read, 0) == 2 * read + read
    cushioned = 2 * read + 16 * FULL
    assert tuning((6, 12), rtt_us=500).rcvbuf_grow(20_000, read, 0) == cushioned + 2 * (cushioned * 20 // 10)


def test_a_round_trip_within_a_tick_was_a_tick() -> None:
    samples = {}
    for version in VERSIONS:
        tuned = tuning(version, rtt_us=0)
        tuned.rcv_rtt_measure_ts(5_400, 5, full=True, queue_empty=True)
        samples[version] = tuned.rtt_us >> 3
    assert samples == {(6, 1): 1000, (6, 12): 0, (7, 2): 0}


def test_a_longer_sample_counted_while_something_was_unread() -> None:
    means = {}
    for version in VERSIONS:
        tuned = tuning(version, rtt_us=8_000)
        tuned.rcv_rtt_measure_ts(20_000, 4, full=True, queue_empty=False)
        means[version] = tuned.rtt_us >> 3
    assert means == {(6, 1): 9_000, (6, 12): 9_000, (7, 2): 8_000}


def test_a_timestamp_is_used_once_though_its_segment_was_short() -> None:
    tuned = tuning((7, 2), rtt_us=0)
    tuned.rcv_rtt_measure_ts(20_000, 4, full=False, queue_empty=True)
    tuned.rcv_rtt_measure_ts(21_000, 4, full=True, queue_empty=True)
    assert tuned.rtt_us == 0


@pytest.mark.parametrize(("version", "calls"), [((6, 1), 20), ((6, 5), 2)])
def test_sendfile_passed_pages_one_by_one_and_pushed_them_together(version: tuple[int, int], calls: int) -> None:
    path = bulk("1 Gbit/s", "10 ms", "1 s", version)
    pushed: list[bool] = []
    socket = Sender(path, lambda _now, _seq, _skb: None)
    socket.sndbuf = 1 << 20  # it never sleeps for room
    sendmsg = socket.sendmsg

    def count(size: int, more: bool = False, wait: bool = True, push: bool = True):  # type: ignore[no-untyped-def]
        pushed.append(push)
        return sendmsg(size, more, wait, push)

    socket.sendmsg = count  # type: ignore[method-assign]
    writer = Bulk(block=Size.of("80 KiB")).writer()
    writing = writes(writer, socket, 1)
    next(writing)  # it sleeps before its first block
    socket.clock_cache = 1  # so that it begins no second one
    assert list(writing) == []
    assert len(pushed) == calls
    assert sum(pushed) == 2


@pytest.mark.parametrize(("version", "ends"), [((6, 1), [2896, 4000, 5448]), ((6, 12), [2896, 5448])])
def test_an_skb_is_filled_from_the_next_one_before_it_goes(version: tuple[int, int], ends: list[int]) -> None:
    sent: list[int] = []
    path = bulk("1 Gbit/s", "10 ms", "1 s", version)
    socket = Sender(path, lambda _now, _seq, skb: sent.append(skb.end_seq))
    socket.write_queue.extend((Skb(4000), Skb(5448)))
    socket.write_seq = 5448
    socket.close()
    assert sent == ends


def test_iperf_gives_up_a_write_that_takes_half_of_its_time() -> None:
    workload = Iperf(duration=Duration.of("1 s"))
    for rate, covered in (("3 Mbit/s", True), ("1 Mbit/s", False)):
        path = scenario(hop(rate, "1 ms"), writer=workload.writer(), reader=workload.reader())
        if covered:
            assert goodput_iperf(path).number > 0
        else:
            with pytest.raises(ModelError, match="half of the duration"):
                goodput_iperf(path)


def test_half_of_an_odd_buffer_is_rounded_up() -> None:
    """The windows are those that 6.1.192 offered while its first ten segments were read."""
    path = bulk("24.008 Mbit/s", "136.953 ms", "1 s", (6, 1), sndbuf=38_736, rcvbuf=92_549)
    path = replace(path, receiver=tuned(path.receiver, tcp_rmem="4096 92549 92549"))
    path = replace(path, sender=tuned(path.sender, tcp_timestamps=0), receiver=tuned(path.receiver, tcp_timestamps=0))
    offered: list[int] = []
    receiver = Receiver(path, lambda _, ack: offered.append(ack.window))
    for number in range(10):
        receiver.receive(number * 512_495, Segment(1460, 1, False, 0))
    assert offered == [44_816, 44_432, 43_704, 42_972, 42_244, 41_512, 40_784, 40_052, 39_324, 38_592]
