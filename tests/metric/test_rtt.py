"""Round trips that ACKs give: a connection of little by hand, and one that Linux recorded with its own average."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, TCP
from scapy.packet import Raw

from lab import metric
from lab.ext.explain.explaining import look_closely
from lab.ext.explain.planning import plan
from lab.metric import Capture, MetricError, RoundTrips, bulk, sack_blocks
from lab.metric.rtt import round_trips
from lab.record.record import Record
from lab.units import Value
from tests.frames import ETHERNET
from tests.kinds import Keep, Save

DATA = Path(__file__).parents[1] / "data"
SECOND = 10**9  # `save` writes a packet a second, each a microsecond later within it

Option = tuple[str, object]


def sent(seq: int, size: int = 10, stamp: int | None = None) -> bytes:
    options: list[Option] = [] if stamp is None else [("NOP", None), ("NOP", None), ("Timestamp", (stamp, 0))]
    tcp = TCP(sport=1, dport=2, seq=100 + seq, ack=501, flags="A", options=options)
    return bytes(ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2") / tcp / Raw(bytes(size)))


def acked(upto: int, *blocks: tuple[int, int], echo: int | None = None) -> bytes:
    options: list[Option] = [] if echo is None else [("NOP", None), ("NOP", None), ("Timestamp", (0, echo))]
    if blocks:
        options += [("NOP", None), ("NOP", None), ("SAck", tuple(100 + edge for block in blocks for edge in block))]
    tcp = TCP(sport=2, dport=1, seq=501, ack=100 + upto, flags="A", options=options)
    return bytes(ETHERNET / IP(src="10.0.0.2", dst="10.0.0.1") / tcp)


@pytest.fixture
def play(save: Save, handshake: list[bytes]) -> Callable[..., RoundTrips]:
    """The round trips of these packets after a handshake, in whole seconds where they are seconds."""

    def play(*packets: bytes) -> RoundTrips:
        capture = Capture(save([*handshake, *packets]))
        return round_trips(capture, bulk(capture))

    return play


def seconds(column: np.ndarray) -> list[int]:
    return [round(each / SECOND) if each >= 0 else -1 for each in column.tolist()]


def test_an_ack_times_the_first_segment_that_it_acknowledges(play: Callable[..., RoundTrips]) -> None:
    found = play(sent(1), sent(11), acked(21))
    assert seconds(found.timed) == [2]
    assert (found.new.tolist(), found.again.tolist(), seconds(found.echoed)) == ([True], [False], [-1])


def test_karns_rule_and_sack(play: Callable[..., RoundTrips]) -> None:
    """1 is lost; 11 and 21 are selected; 1 is sent again."""
    found = play(sent(1), sent(11), sent(21), acked(1, (11, 21)), acked(1, (11, 31)), sent(1), acked(31))
    assert found.new.tolist() == [False, False, True]
    assert found.again.tolist() == [False, False, True]
    assert seconds(found.timed) == [-1, -1, -1]
    assert seconds(found.sacked) == [2, 2, -1]
    assert seconds(found.taken) == [2, 2, -1]


def test_the_echo_of_a_retransmission_counts_and_that_of_a_duplicate_does_not(play: Callable[..., RoundTrips]) -> None:
    found = play(
        *(sent(1, stamp=1000), sent(11, stamp=2000), acked(1, (11, 21), echo=1000), sent(1, stamp=4000)),
        acked(21, echo=4000),
    )
    assert seconds(found.echoed) == [-1, 1]
    assert seconds(found.taken) == [1, 1]
    assert seconds(found.timed) == [-1, -1]


def test_a_clock_that_is_not_of_1_ms_is_refused(play: Callable[..., RoundTrips]) -> None:
    with pytest.raises(MetricError, match="does not have ticks of 1 ms"):
        play(sent(1, stamp=1), sent(11, stamp=2), acked(21, echo=1))


def test_sack_blocks_are_unwrapped(save: Save, handshake: list[bytes]) -> None:
    capture = Capture(save([*handshake, sent(1), acked(1, (11, 21), (31, 41))]))
    blocks = sack_blocks(capture, bulk(capture).back)
    assert list(blocks.values()) == [((11, 21), (31, 41))]


@pytest.fixture
def lossy(record: Keep) -> Record:
    """200 ms of a transfer with loss, timestamps and SACK, and the kernel's tcp_info of it."""
    names = {"capture.sender.eth0.pcap": "lossy.pcap", "tcp_info.sender.bin": "lossy.tcp_info.bin"}
    return record({name: (DATA / file).read_bytes() for name, file in names.items()})


def test_the_kernels_own_average_follows_from_the_samples(lossy: Record) -> None:
    assert metric.srtt_difference()(lossy).number <= 1e-6


def test_what_a_lossy_path_gives(lossy: Record) -> None:
    assert metric.rtt_samples("new")(lossy) == Value(1, "1")
    assert metric.rtt_samples("again", by="data")(lossy) == Value(1, "1")
    assert metric.rtt_samples(by="linux")(lossy) == Value(1, "1")
    assert 0.5 < metric.rtt_samples()(lossy).number < 1
    assert 0 < metric.echo_error()(lossy).number < 1e-3


def test_the_mean_round_trip_and_the_goodput_are_those_that_a_rebuilt_transfer_has(
    lossy: Record,
) -> None:
    made = plan(look_closely(DATA / "lossy.pcap"))
    assert made.rtt is not None
    assert metric.mean_rtt()(lossy).number == pytest.approx(made.rtt.seconds, rel=0.001)
    assert metric.capture_goodput()(lossy).number == pytest.approx(made.goodput.bps, rel=0.001)


def test_a_goodput_needs_some_time(lossy: Record) -> None:
    with pytest.raises(MetricError, match="from 0 s to 0 s: no time"):
        metric.capture_goodput(end=0)(lossy)
    connection = metric.bulk(Capture(DATA / "lossy.pcap"))
    assert connection.acked_ns
    last = (connection.acked_ns[1] - connection.start_ns) / 1e9
    with pytest.raises(MetricError, match="no time"):
        metric.capture_goodput(start=last)(lossy)
    with pytest.raises(MetricError, match="no time"):
        metric.capture_goodput(start=last + 1)(lossy)
