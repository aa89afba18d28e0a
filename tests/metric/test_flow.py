"""What a connection did, out of its packets: against tshark's own analysis of a real transfer, and by construction."""

import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.metric import Capture, MetricError, bulk
from tests.kinds import Save, Segment

RECORDED = Path(__file__).parents[1] / "data" / "transfer.pcap"  # 100 ms of delay, one gigabit, Linux 7.2, -s 80


@pytest.mark.needs("tshark")
def test_recorded_transfer_agrees_with_tshark() -> None:
    fields = ["tcp.seq", "tcp.ack", "tcp.len", "tcp.window_size", "tcp.analysis.bytes_in_flight", "tcp.srcport"]
    argv = ["tshark", "-r", str(RECORDED), "-T", "fields", *(word for field in fields for word in ("-e", field))]
    rows = [
        line.split("\t")
        for line in subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    ]
    connection = bulk(Capture(RECORDED))
    for segments in (connection.forward, connection.back):
        for row, at in enumerate(segments.packet):
            seq, ack, length, window, *_ = rows[at]
            assert (segments.seq[row], segments.payload[row]) == (int(seq), int(length))
            assert segments.ack[row] == (int(ack) if row or segments.ack[row] >= 0 else -1)
            assert segments.window[row] == int(window)
    for row, at in enumerate(connection.forward.packet):
        if rows[at][4] and connection.forward.data[row]:
            assert connection.inflight[row] == int(rows[at][4])


def test_recorded_transfer_has_a_handshake() -> None:
    capture = Capture(RECORDED)
    connection = bulk(capture)
    assert connection.handshake_ns() == pytest.approx(100.003e6, rel=1e-4)
    assert not connection.forward.retransmitted.any()
    assert set(connection.forward.header_length[connection.forward.data]) == {32}


def test_retransmission_and_inflight(save: Save, segment: Segment, handshake: list[bytes]) -> None:
    lost = [segment(True, 101 + 1000 * i, 501, size=1000) for i in range(4)]
    acks = [segment(False, 501, 1101)] * 3
    connection = bulk(Capture(save([*handshake, *lost, *acks, lost[1], segment(False, 501, 4101)])))
    assert connection.forward.retransmitted.sum() == 1
    assert connection.inflight.max() == 4000
    assert connection.inflight[-1] == 3000
    assert connection.back.window.tolist() == [1000, *[1000 << 4] * 4]
    assert connection.payload_bytes == 4000


def test_window_is_not_scaled_unless_both_ends_offer_it(save: Save, segment: Segment) -> None:
    opening = [
        segment(True, 1, 0, "S"),
        segment(False, 5, 2, "SA", wscale=4),
        segment(True, 2, 6, size=9),
        segment(False, 6, 11),
    ]
    assert bulk(Capture(save(opening))).back.window.tolist() == [1000, 1000]


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=40))
def test_sequence_numbers_unwrap(save: Save, segment: Segment, isn: int, steps: list[int]) -> None:
    seqs = np.cumsum([0, *steps])
    packets = [segment(True, isn + int(seq), 1, size=10) for seq in seqs]
    packets += [segment(False, 1, isn + int(seq) + 10) for seq in seqs]
    connection = bulk(Capture(save(packets)))
    forward, back = connection.forward, connection.back
    if forward.payload.sum():
        assert forward.seq.tolist() == seqs.tolist()
        assert all(later - earlier == step for (earlier, later), step in zip(pairwise(back.ack), steps, strict=True))


def test_goodput_over_time_adds_up() -> None:
    connection = bulk(Capture(RECORDED))
    _, rates = connection.goodput_over_time(10_000_000)
    assert connection.acked_ns is not None
    assert rates.sum() * 0.01 / 8 == connection._acked_at(np.array(connection.acked_ns))[0]
    start = connection.start_ns
    assert connection.goodput(start, start + 10**9) == pytest.approx(
        8 * connection._acked_at(np.array([start + 10**9]))[0]
    )


def test_io_graph_counts_every_packet_since_the_first_data() -> None:
    connection = bulk(Capture(RECORDED))
    starts, ahead, behind = connection.packets_per_tick()
    assert starts[0] == 0
    assert ahead.sum() == (connection.forward.time_ns >= connection.start_ns).sum()
    assert behind.sum() == (connection.back.time_ns >= connection.start_ns).sum()


def test_idle_share_is_what_no_burst_fills(save: Save, segment: Segment, handshake: list[bytes]) -> None:
    packets = [*handshake, *[segment(True, 101 + i, 501, size=1) for i in range(4)]]  # one a second
    connection = bulk(Capture(save(packets)))
    assert connection.idle_share(connection.start_ns, connection.start_ns + 4 * 10**9, 10**10) == 0
    assert connection.idle_share(connection.start_ns, connection.start_ns + 4 * 10**9, 10**8) == pytest.approx(1)


def test_no_connection_is_said(save: Save) -> None:
    with pytest.raises(MetricError, match="no TCP"):
        bulk(Capture(save([])))
