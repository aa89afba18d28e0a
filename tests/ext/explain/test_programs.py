"""`lab explain --rebuild` finds the pace of programs that read or write slowly, and the path below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.explain import files
from tests.examples import examples
from tests.ext.explain.captures import ACK, FIN, MSS, PSH, Packet, handshake, measured, planned, windows

RTT = 20.0  # ms
WINDOW = 40_000
FRAME = MSS + 40 + 38  # these captures have no timestamps


def _sent(at: float, start: int, end: int) -> list[Packet]:
    """Return segments from one number to another, that leave together."""
    return [Packet(at, seq=number, size=min(MSS, end - number)) for number in range(start, end, MSS)]


def _read_slowly(
    reads: Sequence[float], block: int, hidden: Sequence[int] = (), less: int = 0, ends: bool = True
) -> list[Packet]:
    """Return a transfer whose reader takes a block at each of these times after its accept, in ms.

    The window is full between reads. The capture lacks the ACKs that announce the `hidden` reads. Each read
    makes room for `less` bytes less, because packets need memory. The receiver's FIN follows the last read.
    """
    packets, total, sent = handshake(RTT), block * len(reads), 1
    edge = 1 + WINDOW
    for turn, read in enumerate([-RTT / 2, *(each + RTT / 2 for each in reads)]):
        at, acked = RTT + RTT / 2 + read, sent
        if turn:
            edge += block - less
        if turn == len(reads):
            packets.append(Packet(at, back=True, ack=acked, window=WINDOW, flags=ACK | FIN if ends else ACK))
            break
        if turn and turn not in hidden:
            packets.append(Packet(at, back=True, ack=acked, window=edge - acked))
        until = total + 1 if turn == len(reads) - 1 else min(edge, total + 1)
        packets += _sent(at + 0.01, sent, until)
        packets += [Packet(at + RTT + 0.01, back=True, ack=until, window=edge - until)] if until > sent else []
        sent = until
    return packets


@pytest.mark.parametrize(("hidden", "less"), [((), 0), ((3, 6, 7), 0), ((), 700)])
def test_regular_reads_have_their_size_and_period(tmp_path: Path, hidden: Sequence[int], less: int) -> None:
    made = planned(tmp_path, _read_slowly([200 * turn for turn in range(1, 13)], 30_000, hidden, less))
    fields = made.program.fields
    assert made.program.kind == "PacedReader"
    assert (fields["rate"], fields["block"], fields["duration"]) == ("1.2 Mbit/s", "30000 B", "2500.001 ms")


def test_reads_of_a_connection_without_an_end_have_the_size_that_the_window_shows(tmp_path: Path) -> None:
    fields = planned(tmp_path, _read_slowly([200 * turn for turn in range(1, 13)], 30_000, ends=False)).program.fields
    assert fields["block"] == "30000 B"


def test_irregular_reads_have_the_mean_rate_of_the_transfer(tmp_path: Path) -> None:
    reads = [130, 330, 610, 700, 990, 1030, 1400, 1570, 1600, 2000, 2290, 2400]
    fields = planned(tmp_path, _read_slowly(reads, 30_000)).program.fields
    assert fields["rate"] == "1.2 Mbit/s"  # 12 blocks in 2.4 s


def test_the_buffer_of_a_slow_reader_does_not_grow_beyond_what_its_window_shows(tmp_path: Path) -> None:
    made = planned(tmp_path, _read_slowly([200 * turn for turn in range(1, 13)], 30_000))
    _, first, most = map(int, made.sysctls["receiver"]["net.ipv4.tcp_rmem"].value.split())
    assert first == most < 4 * WINDOW


def test_a_reader_shows_in_acks_that_wait_for_it(tmp_path: Path) -> None:
    """A large window does not become smaller, but its ACKs stop until the program reads (__tcp_ack_snd_check)."""
    packets, block, end = handshake(RTT, scale=7), 30 * MSS, 1
    for turn in range(1, 13):
        at = RTT + 100 * turn  # the ACK of the accept arrives after half a round trip, and that of a read as well
        first, end = end, end + block
        packets += _sent(at - 98, first, end)
        packets += [Packet(at - 78, back=True, ack=first + 2 * MSS * pair, window=4000) for pair in range(1, 10)]
        packets += [Packet(at + RTT, back=True, ack=end, window=4000, flags=ACK | FIN if turn == 12 else ACK)]
    fields = planned(tmp_path, packets).program.fields
    assert (fields["block"], fields["rate"]) == (f"{block} B", "3.475 Mbit/s")


def test_a_window_that_stays_full_is_read_segment_by_segment(tmp_path: Path) -> None:
    assert planned(tmp_path, windows(40, [45] * 20)).program.fields["watermark"] == "1 B"


def test_a_program_that_wakes_for_16_kib_and_reads_all_of_it_is_no_slow_reader(tmp_path: Path) -> None:
    """The window of 24 kB becomes smaller with each ACK, until 12 segments have arrived (tcp_epollin_ready)."""
    end, window = 1, 24_000
    packets = [replace(each, window=window) for each in handshake(RTT)]
    for number in range(400):
        at, unread = 2 * RTT + 2.5 * number, 2 * MSS * (number % 6)
        packets += _sent(at, end, end + 2 * MSS)
        end += 2 * MSS
        packets.append(Packet(at + RTT, back=True, ack=end, window=window - unread * 2 // 3))
    program = planned(tmp_path, packets).program
    assert program.kind == "Bulk"
    assert "watermark" not in program.fields  # the lab's own program does so


def test_goodput_does_not_count_what_was_acknowledged_when_the_first_segment_passed(tmp_path: Path) -> None:
    """At the receiver, a segment and its ACK pass at the same time; `metric.capture_goodput` counts from there, too."""
    packets = handshake(50, at="receiver")
    for turn in range(10):
        packets.append(Packet(100 + 200 * turn, seq=1 + 1000 * turn, size=1000, flags=ACK | PSH))
        packets.append(Packet(100 + 200 * turn, back=True, ack=1001 + 1000 * turn))
    assert planned(tmp_path, packets).goodput.bps == 9 * 8000 / 1.8


def _written_slowly(block: int, flight: int, cycle: float, together: int = 1, window: int = 65535) -> list[Packet]:
    """Return a transfer of ten blocks, one in each `cycle`, of which `flight` segments leave in each round trip.

    The first ones wait, and leave `together`. The window is `window`, and half of it after every other flight.
    """
    packets, seq = handshake(RTT), 1
    for turn in range(together - 1, 10):
        end = 1 + block * (turn + 1)
        at = 2 * RTT + cycle * (turn if seq > 1 else 0)
        while seq < end:
            until = min(seq + flight * MSS, end)
            packets += _sent(at, seq, until)
            room = window if window == 65535 or len(packets) % 2 else window // 2
            packets.append(Packet(at + RTT, back=True, ack=until, window=room))
            seq, at = until, at + RTT
    return packets


def test_the_pause_of_a_writer_begins_when_its_write_fits_into_the_send_buffer(tmp_path: Path) -> None:
    """The buffer holds two windows of ten segments, 2,304 B each, or 35.8 kB with the heads of skbs.

    The program is woken whenever a third of it is free. Its write of 69 segments returns when the last 35.8 kB fit:
    after six thirds, 71.6 kB, which takes five round trips of ten segments.
    """
    fields = planned(tmp_path, _written_slowly(69 * MSS - 100, 10, 400)).program.fields
    assert (fields["block"], fields["effort"]) == (f"{69 * MSS - 100} B", "299.95 ms")
    fields = planned(tmp_path, _written_slowly(20 * MSS - 100, 10, 400)).program.fields
    assert fields["effort"] == "399.95 ms"  # it fits at once


def test_writes_that_left_together_do_not_make_the_others_larger(tmp_path: Path) -> None:
    fields = planned(tmp_path, _written_slowly(20 * MSS - 100, 10, 400, together=3)).program.fields
    assert (fields["block"], fields["effort"]) == (f"{20 * MSS - 100} B", "399.95 ms")


def test_a_regular_writer_is_no_slow_reader_although_a_small_window_becomes_smaller(tmp_path: Path) -> None:
    fields = planned(tmp_path, _written_slowly(69 * MSS - 100, 10, 400, window=24_000)).program.fields
    assert (fields["block"], fields["effort"]) == (
        f"{69 * MSS - 100} B",
        "399.95 ms",
    )  # no flight shows the send buffer


def test_writes_that_do_not_show_one_by_one_have_the_period_of_the_others(tmp_path: Path) -> None:
    """The rest of a write waits for an ACK (Nagle), and often leaves with the next write, which then shows no pause."""
    packets, block, cycle, seq = handshake(4 * RTT), 2 * MSS + 1100, 50, 1
    for turn in range(60):
        at, until = 4 * RTT + cycle * turn, 1 + block * (turn + 1)
        late = turn % 3 == 1  # the rest leaves with the next write
        packets += _sent(at, seq, until - (until - seq) % MSS if late else until)
        packets.append(Packet(at + cycle - 10 if late else at + 20, back=True, ack=until - (until - seq) % MSS))
        seq = until - (until - seq) % MSS if late else until
    fields = planned(tmp_path, packets).program.fields
    assert (fields["block"], fields["effort"]) == (f"{block} B", "49.95 ms")


def test_pauses_without_the_end_of_a_write_are_those_of_a_sender_that_spaces_segments(tmp_path: Path) -> None:
    packets, two = handshake(2), 2 * 1460
    for turn in range(400):
        packets.append(Packet(4 + 3 * turn, seq=1 + two * turn, size=two))
        packets.append(Packet(6 + 3 * turn, back=True, ack=1 + two * (turn + 1)))
    made = planned(tmp_path, packets)
    assert (made.path.congestion, "effort" in made.program.fields) == ("bbr", False)


def test_acks_of_super_packets_show_the_rate_although_each_comes_with_others(tmp_path: Path) -> None:
    """Super-packets of ten segments take 2 ms; each causes five ACKs, 0.01 ms apart. Most ACKs are not 0.4 ms apart."""
    packets, frames = handshake(RTT, scale=7), 10
    size = frames * MSS
    for number in range(60):
        flight, place = divmod(number, 6)
        packets.append(Packet(2 * RTT * (1 + flight) + 0.001 * place, seq=1 + number * size, size=size))
        done = 2 * RTT * (1 + flight) + RTT + 2 * (place + 1)
        for pair in range(1, 6):
            packets.append(Packet(done + 0.01 * pair, back=True, ack=1 + number * size + 2 * MSS * pair, window=4000))
    rate = measured(tmp_path, packets).rate
    assert rate == pytest.approx(frames * 8 * FRAME / 0.002, rel=0.001)


def test_lone_segments_show_the_rate_by_their_size(tmp_path: Path) -> None:
    """At 1 Mbit/s, a segment of 1,448 B takes 10.784 ms longer than one of 100 B, and so does its ACK."""
    packets, seq = handshake(RTT), 1
    for turn in range(20):
        at, size = 2 * RTT + 400 * turn, (100, 1448)[turn % 2]
        packets.append(Packet(at, seq=seq, size=size, flags=ACK | PSH))
        packets.append(Packet(at + RTT + (10.784 if turn % 2 else 0), back=True, ack=seq + size))
        packets.append(Packet(at + RTT + 30, back=True, ack=seq + size, seq=1 + 2 * turn, size=2, flags=ACK | PSH))
        seq += size
    assert measured(tmp_path, packets).rate == pytest.approx(1e6, rel=0.001)


def test_a_sender_that_spaces_segments_is_bbr_although_many_are_near_an_ack_by_chance(tmp_path: Path) -> None:
    packets, two = handshake(RTT, scale=7), 2 * 1460
    packets += [Packet(2 * RTT + 1.5 * turn, seq=1 + two * turn, size=two) for turn in range(400)]
    for turn in range(400):  # three of five segments leave less than 0.5 ms after an ACK
        late = 1.5 * (turn - turn % 5 + (0, 1, 1, 2, 2)[turn % 5])
        packets.append(Packet(3 * RTT + late + 6.8, back=True, ack=1 + two * (turn + 1), window=4000))
    assert measured(tmp_path, packets).congestion == "bbr"


@pytest.mark.parametrize(("kept", "name"), [(0.5, "reno"), (0.7, "cubic")])
def test_two_losses_show_the_congestion_control(tmp_path: Path, kept: float, name: str) -> None:
    """The first loss ends slow start, and leaves half of an overshoot in any case."""
    packets, at, seq = handshake(RTT), 2 * RTT, 1
    for before, share in ((40, 0.5), (20, kept), (round(20 * kept), 1.0)):
        for _ in range(12):
            packets += _sent(at, seq, seq + before * MSS)
            packets.append(Packet(at + RTT, back=True, ack=seq + before * MSS))
            seq, at = seq + before * MSS, at + RTT
        if share == 1:
            break
        packets += _sent(at, seq, seq + before * MSS)
        packets += [Packet(at + RTT + 0.1 * turn, back=True, ack=seq) for turn in range(4)]
        packets.append(Packet(at + RTT + 1, seq=seq, size=MSS))
        packets.append(Packet(at + 2 * RTT + 1, back=True, ack=seq + before * MSS))
        seq, at = seq + before * MSS, at + 2 * RTT + 1
    assert measured(tmp_path, packets).congestion == name


def _overshooting(most: int, spared: int) -> list[Packet]:
    """Return slow start through a bottleneck of 2 segments a ms, up to `most` in flight, and a loss that halves them.

    From `spared` in flight on, an ACK releases one segment instead of two.
    """
    packets, acks, sent, free = handshake(2 * RTT, scale=7), 0, 0, 0.0
    queue = [2 * RTT] * 10
    arrivals: list[float] = []
    while sent - acks < most and sent < 1500:
        while queue:
            at = queue.pop(0)
            packets.append(Packet(at, seq=1 + sent * MSS, size=MSS))
            sent, free = sent + 1, max(free, at + RTT) + 0.5
            arrivals.append(free + RTT)
        now, acks = arrivals[acks], acks + 1
        packets.append(Packet(now, back=True, ack=1 + acks * MSS, window=4000))
        queue = [now + 0.001] * (2 if sent - acks < spared else 1)
    packets += [Packet(now + 0.1 * turn, back=True, ack=1 + acks * MSS, window=4000) for turn in range(1, 4)]
    packets.append(Packet(now + 0.4, seq=1 + acks * MSS, size=MSS))
    done = max(free, now) + 2 * RTT
    packets.append(Packet(done, back=True, ack=1 + sent * MSS, window=4000))
    packets += _sent(done + 0.01, 1 + sent * MSS, 1 + (sent + (sent - acks) // 2) * MSS)
    packets.append(Packet(done + 4 * RTT, back=True, ack=1 + (sent + (sent - acks) // 2) * MSS, window=4000))
    return packets


def test_slow_start_into_a_standing_queue_is_not_cubic(tmp_path: Path) -> None:
    """CUBIC would leave slow start with 160 segments in flight at most: 80 fill the path, and each round doubles."""
    assert measured(tmp_path, _overshooting(most=400, spared=400)).congestion == "reno"
    assert measured(tmp_path, _overshooting(most=400, spared=100)).congestion is None


@examples(30)
@given(random=st.randoms(use_true_random=False))
def test_damaged_captures_are_rebuilt_or_refused(random: Random, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Packets lack, have wrong windows, numbers or times, and no part of it is a traceback."""
    slow = [_read_slowly([200 * turn for turn in range(1, 9)], 30_000), _written_slowly(69 * MSS - 100, 10, 400)]
    packets = [each for each in random.choice(slow) if random.random() < 0.9][random.choice((0, 0, 50)) :]
    for at in random.sample(range(len(packets)), len(packets) // 20):
        one, number = packets[at], random.randrange(65536)
        packets[at] = random.choice(
            [replace(one, window=number), replace(one, seq=number), replace(one, ack=number), replace(one, ms=0.0)]
        )
    try:
        made = planned(tmp_path_factory.mktemp("damaged"), packets)
    except InputError:
        return
    assert files.topology(made, "damaged")
    assert files.check(made, "damaged")
