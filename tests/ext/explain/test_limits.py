"""Each limit is found in a capture that was written to have it, and shares of time add up to one."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from lab.ext.explain.display import evidence
from lab.ext.explain.explaining import Explanation, explain
from lab.ext.explain.limits import Limit
from tests.ext.explain.captures import ACK, FIN, MSS, PSH, Packet, explained, handshake, seq_of, windows

DATA = Path(__file__).parents[2] / "data"


def _explained(tmp_path: Path, packets: list[Packet]) -> Explanation:
    found = explained(tmp_path, packets)
    assert sum(found.shares.values()) == pytest.approx(1)
    assert all(one.end == other.start for one, other in zip(found.stretches, found.stretches[1:], strict=False))
    return found


def test_a_doubling_flight_is_slow_start(tmp_path: Path) -> None:
    found = _explained(tmp_path, windows(40, [2, 4, 8, 16, 32]))
    assert found.shares[Limit.SLOW_START] > 0.5
    assert found.facts is not None
    assert found.facts.where.name == "sender"
    assert found.facts.where.rtt == pytest.approx(40_000_000, rel=0.01)
    assert found.facts.initial_window == 2 * MSS


def test_a_sender_starts_slowly_again_after_a_pause(tmp_path: Path) -> None:
    packets = windows(40, [2, 4, 8, 16, 32, 64])
    end, at = max(each.ack for each in packets), 1300.0
    for count in (10, 20, 40):
        packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(count)]
        end, at = end + count * MSS, at + 40
        packets.append(Packet(at, back=True, ack=end))
    found = _explained(tmp_path, packets)
    again = [each for each in found.stretches if each.limit is Limit.SLOW_START and each.start > found.start + 10**9]
    assert sum(each.seconds for each in again) > 0.06


def test_a_full_receive_window_is_named_with_its_size(tmp_path: Path) -> None:
    found = _explained(tmp_path, windows(40, [20] * 20, window=20 * MSS))
    assert found.shares[Limit.WINDOW] > 0.75
    assert found.stretches[-2].window == 20 * MSS
    assert evidence(found, Limit.WINDOW).endswith("28,960 B at most, which carry 5.795 Mbit/s")


def test_a_full_window_with_a_queue_carries_less(tmp_path: Path) -> None:
    packets, end, at = handshake(40), 1, 41.0
    for _ in range(30):
        packets += [Packet(at + 0.01 * number, seq=end + number * MSS, size=MSS) for number in range(20)]
        end, at = end + 20 * MSS, at + 100
        packets.append(Packet(at, back=True, ack=end, window=20 * MSS))
    found = _explained(tmp_path, packets)
    assert found.shares[Limit.WINDOW] > 0.8
    assert "over an RTT of 99.81 ms (40.00 ms at least)" in evidence(found, Limit.WINDOW)


def test_a_closed_window_is_a_zero_window(tmp_path: Path) -> None:
    packets = windows(10, [10] * 6, window=10 * MSS)
    end = max(each.ack for each in packets)
    packets[-1] = Packet(70, back=True, ack=end, window=0)
    packets += [
        Packet(900, back=True, ack=end, window=65535),
        Packet(900.01, seq=end, size=MSS),
        Packet(910, back=True, ack=end + MSS),
    ]
    assert _explained(tmp_path, packets).shares[Limit.ZERO_WINDOW] > 0.8


@pytest.mark.parametrize("answered", [True, False])
def test_a_window_with_little_room_is_the_limit_until_the_persist_timer(tmp_path: Path, answered: bool) -> None:
    packets = windows(10, [10] * 6, window=10 * MSS)
    end = max(each.ack for each in packets)
    packets[-1] = Packet(70, back=True, ack=end, window=500)
    packets += [Packet(970, seq=end, size=500)]  # the persist timer
    if answered:
        packets += [Packet(980, back=True, ack=end + 500), Packet(980.01, seq=end + 500, size=MSS)]
    assert _explained(tmp_path, packets).shares[Limit.WINDOW] > 0.8


def test_a_small_write_that_fills_half_of_the_window_is_no_limit_of_the_window(tmp_path: Path) -> None:
    packets = [*handshake(10), Packet(11, seq=1, size=1000), Packet(21, back=True, ack=1001, window=1000)]
    packets += [Packet(2000, seq=1001, size=1000), Packet(2010, back=True, ack=2001, window=1000)]
    assert _explained(tmp_path, packets).shares[Limit.IDLE] > 0.9


def test_an_unacknowledged_end_is_no_time_out(tmp_path: Path) -> None:
    packets = windows(10, [10] * 6)
    end = max(each.ack for each in packets)
    packets += [Packet(1000 * 2**turn, seq=end, flags=ACK | FIN) for turn in range(4)]
    assert _explained(tmp_path, packets).shares[Limit.IDLE] > 0.9


def test_a_pause_is_not_nagles_if_the_round_trip_is_shorter_than_a_tick(tmp_path: Path) -> None:
    packets = handshake(0.4, at="receiver")
    for turn in range(20):
        at, seq = 2 + 500 * turn, 1 + 10 * turn
        packets += [Packet(at, seq=seq, size=10, flags=ACK | PSH), Packet(at + 0.05, back=True, ack=seq + 10)]
    assert _explained(tmp_path, packets).shares[Limit.IDLE] > 0.9


def test_a_probe_does_not_end_the_limit_of_a_full_window(tmp_path: Path) -> None:
    packets, end = handshake(10), 1
    for turn in range(40):  # the window of the handshake lasts for four of them
        at = 20 + 100 * turn
        packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(10)]
        end += 10 * MSS
        packets.append(Packet(at + 10, back=True, ack=end - MSS, window=MSS))
        packets.append(Packet(at + 30, seq=end - MSS, size=MSS))  # a tail loss probe, 20 ms later
        packets.append(Packet(at + 100, back=True, ack=end, window=10 * MSS))
    assert _explained(tmp_path, packets).shares[Limit.WINDOW] > 0.85


def test_a_repair_that_sends_nothing_for_many_acks_waits_for_the_window(tmp_path: Path) -> None:
    packets = windows(20, [40] * 6, window=40 * MSS)
    lost = max(each.ack for each in packets)
    packets += [Packet(140.01 + 0.001 * each, seq=lost + each * MSS, size=MSS) for each in range(40)]
    for each in range(2, 40):  # the queue is long: the ACKs take half a second
        block = struct.pack(">BBBBII", 1, 1, 5, 10, seq_of(lost + MSS), seq_of(lost + each * MSS))
        packets.append(Packet(160 + 13 * each, back=True, ack=lost, window=40 * MSS, options=block))
    packets += [Packet(200.0, seq=lost, size=MSS), Packet(650, seq=lost, size=MSS)]
    packets += [Packet(680, back=True, ack=lost + 40 * MSS, window=40 * MSS)]
    assert _explained(tmp_path, packets).shares[Limit.WINDOW] > 0.85


def test_writes_that_coincide_with_acks_are_the_programs(tmp_path: Path) -> None:
    packets, end = handshake(40, scale=7), 1
    for turn in range(200):  # every 4 ms, ten of them in a round trip
        at = 41 + 4 * turn
        packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(6)]
        acks = [
            Packet(at + 39.59 + 0.2 * each, back=True, ack=end + 2 * (each + 1) * MSS, window=4000) for each in range(3)
        ]
        end += 6 * MSS
        packets += acks
    assert _explained(tmp_path, packets).shares[Limit.IDLE] > 0.8


def test_acks_that_were_held_back_are_no_queue(tmp_path: Path) -> None:
    packets, left = handshake(10, scale=7), [11.0] * 12  # a window of 12 segments, after a loss
    packets += [Packet(16, seq=1, size=MSS)]
    arrived, held = 0.0, 0
    for number in range(1, 900, 2):  # a busy receiver acknowledges every other dozen at once, after 40 ms
        arrived = max(left[number] + 10, arrived + 0.2)
        held += 2
        late = number // 12 % 2
        if not late or number % 12 == 11:
            at = arrived + (40 if late else 0)
            packets.append(Packet(at, back=True, ack=1 + (number + 1) * MSS, window=4000))
            left += [at + 0.001] * held
            held = 0
    packets += [Packet(at, seq=1 + number * MSS, size=MSS) for number, at in enumerate(left)]
    shares = _explained(tmp_path, packets).shares
    assert shares[Limit.CWND] > 0.8
    assert Limit.RATE not in shares


def test_super_packets_that_pass_together_show_the_bottlenecks_rate(tmp_path: Path) -> None:
    packets, end = handshake(30, scale=7, at="receiver"), 1
    for turn in range(400):  # without timestamps
        at = 40.0 + turn
        packets += [Packet(at, seq=end + each * MSS, size=MSS) for each in range(3)]
        end += 3 * MSS
        packets.append(Packet(at, back=True, ack=end, window=4000))
    assert _explained(tmp_path, packets).shares[Limit.RATE] > 0.6


def test_a_closed_window_is_found_without_the_beginning(tmp_path: Path) -> None:
    packets = [
        Packet(0, back=True, ack=1 + MSS, window=MSS),
        Packet(1, back=True, ack=1 + 2 * MSS, window=0),
        Packet(900, back=True, ack=1 + 2 * MSS),
        Packet(901, seq=1 + 2 * MSS, size=MSS),
        Packet(920, back=True, ack=1 + 3 * MSS),
    ]
    assert _explained(tmp_path, packets).shares[Limit.ZERO_WINDOW] > 0.9


def test_late_retransmissions_are_time_outs_without_the_other_direction(tmp_path: Path) -> None:
    packets = [Packet(at, size=MSS) for at in (0, 200, 600, 1400, 3000)]
    assert _explained(tmp_path, packets).shares[Limit.TIMEOUT] > 0.9


def test_an_ack_of_the_same_instant_does_not_release_what_it_acknowledges(tmp_path: Path) -> None:
    packets = [*handshake(0), *(Packet(1, seq=1 + each * MSS, size=MSS) for each in range(3))]
    packets += [Packet(1, back=True, ack=1 + MSS), Packet(1001, seq=1 + MSS, size=MSS)]
    packets += [Packet(1001, back=True, ack=1 + 3 * MSS)]
    assert _explained(tmp_path, packets).shares[Limit.TIMEOUT] > 0.9


def _doubling(tick: int, rtt: int = 40) -> list[Packet]:
    """Slow start, captured at the receiver: each ACK releases two segments. The sender's clock has a period in ms."""
    packets, end = handshake(rtt, scale=7, at="receiver"), 1
    times, echoes = [rtt + 0.3 * number for number in range(4)], [500] * 4
    for _ in range(5):
        later: list[float] = []
        for at, echo in zip(times, echoes, strict=True):
            value = 1000 + int(at) // tick
            packets.append(Packet(at, seq=end, size=MSS, stamps=(value, echo)))
            end += MSS
            packets.append(Packet(at + 0.02, back=True, ack=end, window=4000, stamps=(500 + int(at), value)))
            later += [at + 0.02 + rtt, at + 0.17 + rtt]
        echoes = [500 + int(at) for at in times for _ in range(2)]
        times = later
    return packets


@pytest.mark.parametrize("tick", [1, 4])
def test_slow_start_is_found_with_a_coarse_timestamp_clock(tmp_path: Path, tick: int) -> None:
    found = _explained(tmp_path, _doubling(tick))
    assert found.facts is not None
    assert found.facts.where.name == "receiver"
    assert found.shares[Limit.SLOW_START] > 0.7


def test_a_segment_that_was_overtaken_does_not_end_slow_start(tmp_path: Path) -> None:
    packets = _doubling(1)
    at = next(index for index, each in enumerate(packets) if each.seq == 1 + 6 * MSS)
    one, two = packets[at], packets[at + 2]
    packets[at], packets[at + 2] = replace(two, ms=one.ms), replace(one, ms=two.ms)
    found = _explained(tmp_path, packets)
    assert found.shares[Limit.SLOW_START] > 0.7
    assert sum(each.again for each in found.stretches) == 0


def test_a_proxy_that_acknowledges_makes_the_round_trip_short(tmp_path: Path) -> None:
    packets, end = handshake(100, at="receiver"), 1
    for turn in range(100):
        at = 101 + 5 * turn
        packets += [Packet(at + 0.01 * each, seq=end + each * MSS, size=MSS) for each in range(10)]
        end += 10 * MSS
        packets.append(Packet(at + 0.2, back=True, ack=end, window=10 * MSS))
    found = _explained(tmp_path, packets)
    assert found.facts is not None
    assert found.facts.where.rtt == pytest.approx(5e6, rel=0.1)
    assert found.shares[Limit.WINDOW] > 0.7


def test_bytes_that_only_acks_show_are_counted(tmp_path: Path) -> None:
    packets = windows(10, [4, 8, 8, 8])
    whole = _explained(tmp_path, packets)
    assert whole.facts is not None
    assert whole.facts.missing == ""
    lost = _explained(tmp_path, [each for each in packets if each.seq not in (1 + 5 * MSS, 1 + 6 * MSS)])
    assert lost.facts is not None
    assert lost.facts.missing == "2,896 bytes that ACKs acknowledge: the capture lost packets"


def test_the_time_before_an_answer_is_the_programs_own(tmp_path: Path) -> None:
    packets = [
        *handshake(20, at="receiver"),
        Packet(21, size=100, flags=ACK | PSH),
        Packet(41, back=True, ack=101),
        Packet(5021, back=True, ack=101, size=MSS),
        Packet(5021.1, seq=101, ack=1 + MSS),
    ]
    assert _explained(tmp_path, packets).shares[Limit.IDLE] > 0.95


@pytest.mark.parametrize(
    ("beyond", "behind", "place"), [(0.17, 0.04, "sender"), (0.04, 0.17, "receiver"), (0.04, 0.05, "between")]
)
def test_a_hosts_own_reaction_does_not_move_the_capture(
    tmp_path: Path, beyond: float, behind: float, place: str
) -> None:
    packets = handshake(beyond)
    packets[2] = Packet(beyond + behind, seq=1, ack=1)
    packets += [Packet(5, seq=1, size=MSS), Packet(5 + beyond, back=True, ack=1 + MSS)]
    found = _explained(tmp_path, packets)
    assert found.facts is not None
    assert found.facts.where.name == place


def test_writes_with_pauses_are_an_idle_application(tmp_path: Path) -> None:
    packets = handshake(20)
    for turn in range(10):
        at, seq = 40 + 200 * turn, 1 + 3000 * turn
        packets += [Packet(at, seq=seq, size=MSS), Packet(at, seq=seq + MSS, size=MSS)]
        packets += [Packet(at, seq=seq + 2 * MSS, size=3000 - 2 * MSS, flags=ACK | PSH)]
        packets += [Packet(at + 20, back=True, ack=seq + 3000)]
    assert _explained(tmp_path, packets).shares[Limit.IDLE] > 0.85


def test_answers_before_the_next_request_are_turns(tmp_path: Path) -> None:
    packets = handshake(50)
    for turn in range(10):
        at, seq = 60 + 50 * turn, 1 + 100 * turn
        packets += [Packet(at, seq=seq, ack=1 + 100 * turn, size=100, flags=ACK | PSH)]
        packets += [Packet(at + 50, back=True, seq=1 + 100 * turn, ack=seq + 100, size=100, flags=ACK | PSH)]
    assert _explained(tmp_path, packets).shares[Limit.TURNS] > 0.7


def test_turns_of_a_lan_are_no_bursts(tmp_path: Path) -> None:
    packets = handshake(0.4)
    for turn in range(100):
        at, seq = 1 + 0.4 * turn, 1 + 100 * turn
        packets += [Packet(at, seq=seq, ack=1 + 100 * turn, size=100, flags=ACK | PSH)]
        packets += [Packet(at + 0.39, back=True, seq=1 + 100 * turn, ack=seq + 100, size=100, flags=ACK | PSH)]
    assert _explained(tmp_path, packets).shares[Limit.TURNS] > 0.9


def test_the_place_is_told_on_a_path_without_delay(tmp_path: Path) -> None:
    packets, end = handshake(0.002, at="receiver"), 1
    for turn in range(100):
        packets += [Packet(1 + 100.0 * turn, seq=end, size=10, flags=ACK | PSH)]
        end += 10
        packets += [Packet(1 + 100.0 * turn, back=True, ack=end)]
    found = _explained(tmp_path, packets)
    assert found.facts is not None
    assert found.facts.where.name == "receiver"
    assert found.shares[Limit.IDLE] > 0.9


def test_small_segments_that_wait_for_acks_are_nagles(tmp_path: Path) -> None:
    packets = handshake(1)
    for turn in range(20):
        at, seq = 2 + 41 * turn, 1 + 10 * turn
        packets += [Packet(at, seq=seq, size=10, flags=ACK | PSH), Packet(at + 41, back=True, ack=seq + 10)]
    found = _explained(tmp_path, packets)
    assert found.shares[Limit.NAGLE] > 0.9
    assert found.facts is not None
    assert found.facts.delayed_nagle == 19


def test_a_third_of_the_flight_acknowledged_in_silence_is_a_full_send_buffer(tmp_path: Path) -> None:
    packets, end = handshake(60, scale=7), 1
    burst = 12
    for number in range(30):  # a third of the buffer of 36 segments leaves each third of the round trip
        at = 61 + 20 * number
        packets += [Packet(at, seq=end + each * MSS, size=MSS) for each in range(burst)]
        for each in range(1, burst + 1):
            packets.append(Packet(at + 60 - (burst - each), back=True, ack=end + each * MSS, window=4000))
        end += burst * MSS
    assert _explained(tmp_path, packets).shares[Limit.SEND_BUFFER] > 0.6


def test_a_full_send_buffer_is_found_behind_a_pacer(tmp_path: Path) -> None:
    packets, left = handshake(60, scale=7), [61 + 1.2 * number for number in range(60)]  # a buffer of 60 segments
    while len(left) < 1000:
        woken = left[len(left) - 41] + 60  # the program is woken when a third of the buffer is free
        left += [max(woken, left[-1] + 1.2) + 1.2 * number for number in range(20)]
    packets += [Packet(at, seq=1 + number * MSS, size=MSS) for number, at in enumerate(left)]
    for number in range(2, len(left) + 1, 2):
        packets.append(Packet(left[number - 1] + 59.999, back=True, ack=1 + number * MSS, window=4000))
    assert _explained(tmp_path, packets).shares[Limit.SEND_BUFFER] > 0.1


def test_the_retransmission_timer_is_a_time_out(tmp_path: Path) -> None:
    packets = windows(10, [10] * 3)
    end = max(each.ack for each in packets)
    packets += [Packet(41, seq=end, size=MSS), Packet(441, seq=end, size=MSS), Packet(451, back=True, ack=end + MSS)]
    assert _explained(tmp_path, packets).shares[Limit.TIMEOUT] > 0.7


def test_full_segments_that_never_arrive_are_a_black_hole(tmp_path: Path) -> None:
    packets = [*handshake(10), Packet(11, seq=1, size=100), Packet(21, back=True, ack=101)]
    packets += [Packet(22 + 200 * (2**turn), seq=101, size=1460) for turn in range(5)]
    packets += [Packet(22, seq=101, size=1460), Packet(7000, back=True, ack=101)]
    assert Limit.BLACK_HOLE in _explained(tmp_path, packets).shares


def test_a_growing_round_trip_is_the_bottlenecks_rate(tmp_path: Path) -> None:
    packets, gap, end, acked = handshake(20, scale=7), 1.2, 1, 1
    sent = 0.0
    for number in range(600):  # a segment for each ACK: the queue of 40 segments stands
        at = max(21.0, sent) if number < 40 else 21 + 20 + gap * (number - 40)
        packets.append(Packet(at, seq=end, size=MSS))
        end += MSS
    for number in range(600):
        acked += MSS
        packets.append(Packet(21 + 20 + gap * number, back=True, ack=acked, window=4000))
    found = _explained(tmp_path, packets)
    assert found.shares[Limit.RATE] > 0.8


def test_tls_turns_belong_to_the_handshake(tmp_path: Path) -> None:
    hello = b"\x16\x03\x01\x02\0"
    packets = [
        *handshake(40),
        Packet(41, seq=1, ack=1, size=300, head=hello),
        Packet(81, back=True, seq=1, ack=301, size=900, head=hello),
        Packet(81.1, seq=301, ack=901, size=80, head=b"\x17\x03\x03\0\x4b"),
        Packet(121, back=True, seq=901, ack=381),
    ]
    assert _explained(tmp_path, packets).shares[Limit.HANDSHAKE] > 0.6


@pytest.mark.parametrize(("name", "limit"), [("small_writes", Limit.NAGLE), ("transfer", Limit.SLOW_START)])
def test_captures_of_trials_are_explained(name: str, limit: Limit) -> None:
    found = max(explain(DATA / f"{name}.pcap").connections, key=lambda each: each.payload[0])
    assert max(found.shares, key=lambda each: found.shares[each]) is limit


def test_the_receivers_capture_is_told_from_the_senders() -> None:
    places = {}
    for name in ("hole", "lossy"):
        [found] = explain(DATA / f"{name}.pcap").connections
        assert found.facts is not None
        places[name] = found.facts.where.name
    assert places == {"hole": "receiver", "lossy": "sender"}
