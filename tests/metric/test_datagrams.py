"""Loss, delay, jitter and reordering between two hosts, from the captures of both."""

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw

from lab import metric
from lab.guest import outputs
from lab.metric import MetricError
from lab.metric.tools import iperf3_datagrams
from lab.record.record import Record
from lab.record.store import Store
from lab.spec.find import topology
from lab.units import Value, to_plain
from tests.frames import ETHERNET
from tests.kinds import Keep
from tests.trials import trial

NETWORK = topology("symmetric-1g").network
OF = {node: {version: NETWORK.address(node, version) for version in (4, 6)} for node in ("sender", "receiver")}
Seen = list[tuple[int, bytes]]  # ns, frame


def datagram(number: int, size: int = 100, six: bool = False, back: bool = False) -> bytes:
    ends = [OF[node][6 if six else 4] for node in ("sender", "receiver")]
    source, destination = reversed(ends) if back else ends
    ip = IPv6(src=source, dst=destination) if six else IP(src=source, dst=destination)
    payload = struct.pack(">QI", 7, number)[: max(size, 0)].ljust(size, b"\0")
    return bytes(ETHERNET / ip / UDP(sport=9, dport=9) / Raw(payload))


def pcap(seen: Seen, snap: int = 96) -> bytes:
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snap, 1)]
    for ns, frame in seen:
        out += [struct.pack("<IIII", ns // 10**9, ns % 10**9, min(len(frame), snap), len(frame)), frame[:snap]]
    return b"".join(out)


@pytest.fixture
def both(tmp_path: Path) -> Callable[[Seen, Seen], Record]:
    """Makes a record with the captures of both hosts."""
    return lambda sent, came: made(tmp_path, sent, came)


def made(root: Path, sent: Seen, came: Seen) -> Record:
    with Store(root).stage(trial(network=to_plain(NETWORK))) as stage:
        for node, seen in (("sender", sent), ("receiver", came)):
            (stage.out / outputs.capture(node, "eth0")).write_bytes(pcap(seen))
        return stage.commit({})


@given(
    delays=st.lists(st.none() | st.integers(0, 50_000_000), min_size=1, max_size=40),
    six=st.booleans(),
    size=st.integers(12, 300),
)
def test_figures_are_those_of_the_definitions(
    tmp_path_factory: pytest.TempPathFactory, delays: list[int | None], six: bool, size: int
) -> None:
    """None: the datagram is lost. Each figure is computed again, packet by packet, as its RFC words it."""
    sent = [(n * 10**6, datagram(n, size, six)) for n in range(len(delays))]
    arrivals = sorted((n * 10**6 + delay, n) for n, delay in enumerate(delays) if delay is not None)
    answers = [(ns + 1, datagram(n, size, six, back=True)) for ns, n in arrivals[:5]]
    came = sorted([(ns, sent[n][1]) for ns, n in arrivals] + answers)
    record = made(tmp_path_factory.mktemp("store"), sent, came)
    assert metric.lost_share()(record).number == pytest.approx(delays.count(None) / len(delays))
    if not arrivals:
        with pytest.raises(MetricError, match="no packet with data arrived"):
            metric.one_way_delay()(record)
        return
    known = [delay / 1e9 for delay in delays if delay is not None]
    assert metric.one_way_delay()(record).number == pytest.approx(float(np.median(known)))
    assert metric.delay_variation(1.0)(record).number == pytest.approx(max(known) - min(known))
    late, newest, estimate = 0, -1, 0.0
    for index, (ns, n) in enumerate(arrivals):
        late, newest = late + (n < newest), max(n, newest)
        if index:
            before_ns, before = arrivals[index - 1]
            estimate += (abs((ns - before_ns) - (n - before) * 10**6) / 1e9 - estimate) / 16
    assert metric.reordered_share()(record).number == pytest.approx(late / len(arrivals))
    assert metric.jitter()(record).number == pytest.approx(estimate, abs=1e-12)


def test_a_duplicate_counts_once(both: Callable[[Seen, Seen], Record]) -> None:
    one, two = datagram(1), datagram(2)
    record = both([(0, one), (10, two)], [(100, one), (150, one), (160, two)])
    assert metric.lost_share()(record) == Value(0.0, "1")
    assert metric.reordered_share()(record) == Value(0.0, "1")


def test_short_payloads_do_not_read_the_next_packet(both: Callable[[Seen, Seen], Record]) -> None:
    """The bytes behind a short payload belong to the next record, which differs between the two captures."""
    frames = [datagram(0, size) for size in range(1, 20)]
    sent = [(n, frame) for n, frame in enumerate(frames)]
    came = [(10**9 + 7 * n, frame) for n, frame in enumerate(frames)]
    assert metric.lost_share()(both(sent, came)) == Value(0.0, "1")


def test_datagrams_that_look_alike_are_refused(both: Callable[[Seen, Seen], Record]) -> None:
    same = datagram(1)
    with pytest.raises(MetricError, match=r"look alike; number datagrams in their first 16 bytes"):
        metric.jitter()(both([(0, same), (1, same)], []))


def test_fragments_are_refused(both: Callable[[Seen, Seen], Record]) -> None:
    whole = ETHERNET / IP(src=OF["sender"][4], dst=OF["receiver"][4], id=5) / UDP(sport=9, dport=9) / Raw(bytes(2000))
    parts = [(n, bytes(part)) for n, part in enumerate(fragment(whole, 1480))]
    with pytest.raises(MetricError, match="datagrams were fragmented"):
        metric.lost_share()(both(parts, parts))


def test_a_capture_of_others_is_refused(both: Callable[[Seen, Seen], Record]) -> None:
    with pytest.raises(MetricError, match="the capture of 'sender' has no UDP packet with data to 'receiver'"):
        metric.lost_share()(both([(0, datagram(1, back=True))], []))


def test_iperf3_reports_its_own_loss_and_jitter(record: Keep) -> None:
    done = record({outputs.IPERF3: json.dumps(report(1e6)).encode()})
    assert metric.iperf3_lost_share()(done) == Value(0.125, "1")
    assert metric.iperf3_jitter()(done) == Value(0.00025, "s")
    with pytest.raises(MetricError, match="iperf3 did not report how datagrams arrived: its output has no 'jitter_ms'"):
        iperf3_datagrams(json.dumps(report(1e6, {})), "jitter_ms")


def test_an_iperf3_that_divided_by_zero_is_refused() -> None:
    """As iperf3 3.18 did over a link without a rate: 333,448 datagrams in place of 1,000."""
    with pytest.raises(MetricError, match=r"iperf3 sent 333 times its rate of 4 Mbit/s: .* it divided by zero"):
        iperf3_datagrams(json.dumps(report(1_333_126_103.5)), "lost_percent")


GOOD = MappingProxyType({"jitter_ms": 0.25, "lost_percent": 12.5})


def report(sent: float, datagrams: Mapping[str, float] = GOOD) -> dict[str, Any]:
    end = {"sum": dict(datagrams), "sum_sent": {"bits_per_second": sent}}
    return {"start": {"target_bitrate": 4_000_000}, "end": end}
