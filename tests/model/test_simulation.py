"""Transfers played segment by segment, against captures of Linux 7.2.13 on the same path."""

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from lab.guest.network import Direction
from lab.guest.task import Traffic
from lab.guest.workload import Bulk, Iperf, Iperf3
from lab.model import Scenario
from lab.model.delayed_ack import NEVER
from lab.model.packet import Ack, Segment
from lab.model.receiver import Receiver
from lab.model.sender import Sender, Skb
from lab.model.simulation import Simulation
from lab.model.wire import Wire
from lab.model.writer import writes
from lab.units import Duration, Size
from tests.model.scenarios import hop, host, scenario

FULL, MS = 1448, 10**6
FAR, NEAR = hop(delay="100 ms", limit=20_000), hop(limit=20_000)


def path(workload: Traffic, forward: Direction = FAR, reverse: Direction = NEAR, **changed: Any) -> Scenario:
    return scenario(forward, reverse, writer=workload.writer(), reader=workload.reader(), **changed)


PATH, BULK = path(Iperf()), path(Bulk(duration=Duration.of("4 s")))
POLLING = path(Iperf3(duration=Duration.of("1 s")), hop(delay="10 ms", limit=20_000), rcvbuf=1_512_500)


class Captured(NamedTuple):
    """What a capture at the sender holds, on the kernel in which only waiting takes time."""

    path: Scenario
    start: int  # when the first segment leaves, ns since a tick
    payload: int  # bytes
    segments: int
    last: int  # when the last one leaves, ns after the first


IPERF = Captured(PATH, 51_568, 266_076_220, 183_819, 10_079_056_208)
SENDFILE = Captured(
    path(Bulk(duration=Duration.of("4 s")), rcvbuf=12_500_000), 101_568, 96_468_992, 66_632, 4_040_573_728
)
SMALL_MTU = Captured(  # packets of 500 bytes, and a receive buffer for 127 of their segments
    path(
        Bulk(size=Size.of("40 MiB"), watermark=Size(1)),
        *(hop("100 Mbit/s", "5 ms", mtu, 20_000) for mtu in (1500, 500)),
        receiver=host("receiver", tcp_rmem="4096 115072 115072"),
    ),
    115_680,
    41_943_040,
    94_023,
    7_952_455_840,
)


@pytest.mark.parametrize(
    "captured",
    [
        pytest.param(IPERF, id="iperf", marks=pytest.mark.long),
        pytest.param(SENDFILE, id="sendfile"),
        pytest.param(SMALL_MTU, id="small-mtu"),
    ],
)
def test_every_segment_leaves_at_the_nanosecond_at_which_linux_sent_it(captured: Captured) -> None:
    path, sizes, times = captured.path, Counter[int](), list[int]()
    simulation = Simulation(path, captured.start)
    transmit = simulation.sender.transmit

    def count(now: int, start: int, skb: Skb) -> None:
        full, part = divmod(skb.end_seq - start, simulation.mss)
        sizes.update({simulation.mss: full, part: 1} if part else {simulation.mss: full})
        times.append(now)
        transmit(now, start, skb)

    simulation.sender.transmit = count
    simulation.run()
    assert sum(size * number for size, number in sizes.items()) == captured.payload
    assert sum(sizes.values()) == captured.segments
    assert times[-1] - times[0] == captured.last


def test_iperf3_sends_what_linux_sent_when_it_did() -> None:
    start = 94_084
    simulation = Simulation(POLLING, start)
    simulation.run(start + 800 * MS)
    assert simulation.sender.snd_nxt == 67_630_840  # within 800 ms of a capture; and when the first ACKs came
    assert simulation.acked[0][:10].tolist() == [start + 10_013_744 + number * 12_304 for number in range(10)]


@pytest.mark.parametrize("first", [1, 3, 6], ids=["slow-start", "growing-window", "steady"])
@pytest.mark.parametrize("captured", [SENDFILE, SMALL_MTU], ids=["sendfile", "small-mtu"])
def test_a_transfer_goes_on_from_where_its_data_was_written_as_if_it_had_never_ended(
    captured: Captured, first: int
) -> None:
    def of(mebibytes: int) -> Simulation:
        workload = Bulk(size=Size(mebibytes << 20), watermark=Size(captured.path.reader.rcvlowat))
        return Simulation(replace(captured.path, writer=workload.writer()), captured.start)

    whole, part = of(8), of(first)
    part.keeps = True
    part.run()
    assert part.written is not None
    longer = part.written
    longer.write_on(8 - first << 20)
    for each in (whole, longer):
        each.run()
    assert longer.acked == whole.acked
    assert (longer.last, longer.first, longer.started) == (whole.last, whole.first, whole.started)
    assert (longer.forward.peaks, longer.reverse.peaks) == (whole.forward.peaks, whole.reverse.peaks)
    assert part.sender.snd_una == first << 20  # the copy left it alone


def test_what_a_writer_does_between_two_waits_takes_no_time() -> None:
    socket, ends = sender()
    assert next(writes(POLLING.writer, socket, NEVER)) is None
    assert socket.clock_cache == 0
    assert ends == [number * 2 * FULL for number in range(1, 6)]


def test_a_wire_carries_one_frame_at_a_time() -> None:
    two = Wire((FAR, hop("100 Mbit/s", "100 ms")), 90)
    first = two.carry(0, FULL)
    assert first == 12_304 + 123_040 + 2 * 100 * MS
    assert two.carry(0, FULL) == first + 123_040  # the slower hop lets it wait
    assert two.queue(0) == 2 * 12_304 + 2 * 123_040 - 12_304
    assert two.queue(first) == 0


def test_a_reader_that_answers_has_its_acks_ride_along_until_one_is_overdue() -> None:
    receiver, seen = receiving(PATH)
    for number, payload in enumerate([60] + 9 * [FULL]):
        now = 100 * MS + number * 12304
        receiver.receive(now, Segment(payload, 1, psh=number == 0, tsecr=0))
        if receiver.awake:
            receiver.read(now)
    assert receiver.icsk_ack.due == 141 * MS  # HZ/25 and the tick that has begun
    receiver.delack_timer(receiver.icsk_ack.due)
    offered = {ack.ack_seq: ack.window for ack in seen}  # of a capture
    assert offered == {60: 65152, 2956: 69888, 5852: 75776, 8748: 81536, 11644: 81536, 13092: 81536}


def test_what_a_reader_leaves_unread_costs_its_payload_and_one_head() -> None:
    receiver, seen = receiving(BULK)
    for number in range(9):
        receiver.receive(number * 12304, Segment(FULL, 1, psh=False, tsecr=0))
    windows = [ack.window for ack in seen]
    free = [(131072 - 832 - (number + 1) * FULL) * 162 >> 8 for number in range(9)]
    assert windows[-1] == -(-free[-1] // 128) * 128 == 74240


def receiving(path: Scenario) -> tuple[Receiver, list[Ack]]:
    """The path's receiver, and what it acknowledges."""
    seen: list[Ack] = []
    return Receiver(path, lambda _now, ack: seen.append(ack)), seen


def sender() -> tuple[Sender, list[int]]:
    """A sender, and the ends of the skbs that it sends."""
    ends: list[int] = []
    return Sender(BULK, lambda _now, _start, skb: ends.append(skb.end_seq)), ends


def test_more_to_come_keeps_a_part_of_a_segment_back() -> None:
    socket, ends = sender()
    list(socket.sendmsg(2 * FULL + 100, more=True))
    assert ends == [2 * FULL]
    list(socket.sendmsg(FULL - 100, more=True))
    assert ends[-1] == 3 * FULL


def test_one_part_of_a_segment_is_under_way_at_most() -> None:
    socket, ends = sender()
    list(socket.sendmsg(100))
    list(socket.sendmsg(100))
    assert ends == [100]
    socket.ack(100 * MS, Ack(100, 65152, 0))
    assert ends == [100, 200]


def test_each_skb_costs_its_head_and_a_writer_sleeps_until_a_third_is_free() -> None:
    socket, ends = sender()
    writing = socket.sendmsg(1 << 20)
    assert list(zip(writing, range(2), strict=False))[-1][0] is None
    assert (
        socket.wmem_queued()
        == socket.write_seq + 832 * (len(socket.write_queue) + len(socket.rtx_queue))
        >= socket.sndbuf
    )
    assert not socket.is_writeable()
    assert not socket.ack(100 * MS, Ack(ends[0], 65152, 0))
    assert socket.ack(101 * MS, Ack(socket.snd_nxt, 65152, 0))


def test_closing_sends_what_waited() -> None:
    socket, ends = sender()
    list(socket.sendmsg(100))
    list(socket.sendmsg(100))
    socket.close()
    assert ends == [100, 200]
