"""iperf3 with several flows, in both directions, at a rate: its figures beside those that follow from the wire."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import metric
from lab.guest.probe import Capture
from lab.guest.workload import Iperf3
from lab.metric import MetricError
from lab.metric.tools import Way, iperf3_bits_per_second, iperf3_datagrams
from lab.record.record import Record
from lab.units import Duration, Rate, Size
from tests.kinds import Perform

TWO = Duration.of("2 s")
LINE = 10e6 * 1448 / 1538  # of TCP's payload, over a link of 10 Mbit/s
PATH = {"path": {"rate": "10 Mbit/s", "delay": "5 ms", "limit": 100}}
ENDS = (Capture(node="sender"), Capture(node="receiver"))


def arrivals(record: Record, node: str, to: str) -> tuple[Any, Any]:
    """The times and the payloads of TCP segments that a capture has on their way to an address."""
    capture = metric.capture_of(record, node)
    ways = [flow.destination == to for flow in capture.flows]
    times, sizes = [], []
    for packets in capture.blocks():
        wanted = np.array([*ways, False])[capture.census.numbers(packets)] & packets.tcp & (packets.payload > 0)
        times.append(packets.time_ns[wanted])
        sizes.append(packets.payload[wanted])
    return np.concatenate(times), np.concatenate(sizes)


def rate_of(record: Record, node: str, to: str) -> float:
    """The rate of payload in the second half of the transfer, in bit/s."""
    times, sizes = arrivals(record, node, to)
    middle = (times > times[0] + 1e9) & (times <= times[0] + 2e9)
    return float(8 * sizes[middle].sum())


@pytest.mark.guest
def test_four_flows_share_the_line(perform: Perform) -> None:
    record = perform("symmetric-1g", Iperf3(duration=TWO, parallel=4), ENDS, links=PATH)
    assert rate_of(record, "receiver", "10.0.1.2") == pytest.approx(LINE, rel=0.002)  # a frame is 0.1 %
    each = [metric.iperf3_goodput(flow=flow)(record).number for flow in (1, 2, 3, 4)]
    assert sum(each) == pytest.approx(metric.iperf3_goodput()(record).number, rel=1e-6)
    assert min(each) > LINE / 10
    sent = [metric.iperf3_goodput("sent", flow=flow)(record).number for flow in (1, 2, 3, 4)]
    assert sum(sent) == pytest.approx(metric.iperf3_goodput("sent")(record).number, rel=1e-6)
    with pytest.raises(MetricError, match=r"^iperf3 has no flow 5: it reports 4 in the direction forward"):
        metric.iperf3_goodput(flow=5)(record)
    with pytest.raises(MetricError, match=r"its output has no 'sum_received_bidir_reverse'$"):
        metric.iperf3_goodput(way="back")(record)


@pytest.mark.guest
def test_both_directions_fill_the_line_at_once(perform: Perform) -> None:
    path = {**PATH["path"], "limit": "ample"}  # with short queues, the ACKs' bursts leave the line idle
    record = perform("symmetric-1g", Iperf3(duration=TWO, parallel=2, bidir=True), ENDS, links={"path": path})
    ways: tuple[tuple[Way, str, str], ...] = (("forward", "receiver", "10.0.1.2"), ("back", "sender", "10.0.1.1"))
    for way, node, to in ways:
        least = 1538 / (1538 + 90)  # beside an ACK of 90 B on the wire for each segment
        assert LINE * least < rate_of(record, node, to) <= LINE * 1.002
        each = [metric.iperf3_goodput(flow=flow, way=way)(record).number for flow in (1, 2)]
        assert sum(each) == pytest.approx(metric.iperf3_goodput(way=way)(record).number, rel=1e-6)


@pytest.mark.guest
def test_the_kernel_paces_each_flow(perform: Perform) -> None:
    record = perform("symmetric-1g", Iperf3(duration=TWO, pacing=Rate.of("5 Mbit/s")), ENDS, links=PATH)
    times, sizes = arrivals(record, "sender", "10.0.1.2")
    middle = (times > times[0] + 1e9) & (times < times[0] + 1.9e9)
    moments, which = np.unique(times[middle], return_inverse=True)
    sent, gaps = np.bincount(which, sizes[middle]), np.diff(moments) / 1e9
    assert gaps == pytest.approx(8 * sent[:-1] / 5e6, rel=1e-4)


@pytest.mark.guest
def test_iperf3_writes_tcp_at_its_rate_in_both_directions(perform: Perform) -> None:
    limited = Iperf3(duration=TWO, bidir=True, tcp_rate=Rate.of("2 Mbit/s"), length=Size.of("1448 B"))
    record = perform("symmetric-1g", limited, ENDS, links=PATH)
    for goodput in (metric.iperf3_goodput(), metric.iperf3_goodput(way="back")):
        assert goodput(record).number == pytest.approx(2e6, rel=0.02)


@pytest.mark.guest
def test_the_part_that_a_bottleneck_cannot_carry_is_lost(perform: Perform) -> None:
    """Two flows of 10 Mbit/s, in datagrams of 1000 B, over 10 Mbit/s with a short queue: frames of 1066 B."""
    both = Iperf3(duration=TWO, udp_rate=Rate.of("10 Mbit/s"), length=Size.of("1000 B"), parallel=2)
    bottleneck = {"rate": "10 Mbit/s", "forward": {"limit": 20}}
    record = perform("shared-bottleneck", both, ENDS, links={"bottleneck": bottleneck})
    expected = 1 - 10 / 20 * 1000 / 1066
    assert metric.lost_share()(record).number == pytest.approx(expected, abs=0.01)
    assert metric.iperf3_lost_share()(record).number == pytest.approx(expected, abs=0.01)
    each = [metric.iperf3_lost_share(flow=flow)(record).number for flow in (1, 2)]
    assert np.mean(each) == pytest.approx(expected, abs=0.01)
    assert metric.iperf3_goodput("sent", flow=2)(record).number == pytest.approx(10e6, rel=0.01)
    with pytest.raises(MetricError, match="does not report how much of each UDP flow was received"):
        metric.iperf3_goodput(flow=2)(record)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"parallel": 0}, "Iperf3.parallel: should be from 1 to 128, not 0"),
        ({"parallel": 129}, "Iperf3.parallel: should be from 1 to 128, not 129"),
        ({"interval": "10 ms"}, "iperf3's interval is 100 ms to 1 min, not 10 ms"),
        ({"duration": "100000 s"}, "iperf3 runs for a day at most"),
        ({"length": "2 MiB"}, "iperf3's writes have 1 to 1,048,576 bytes"),
        ({"length": "65508 B", "udp_rate": "1 Mbit/s"}, "iperf3's datagrams have 16 to 65,507 bytes"),
        ({"length": "0 B"}, "iperf3's writes have 1 to 1,048,576 bytes"),
        ({"udp_rate": "0 bit/s"}, "udp_rate: iperf3 sends without a limit at a rate of 0"),
        ({"pacing": "1 Mbit/s", "udp_rate": "1 Mbit/s"}, "udp_rate sends UDP, but tcp_rate and pacing limit TCP"),
        ({"bidir": True, "udp_rate": "1 Mbit/s"}, "use Flows with an Iperf3 for each direction"),
    ],
)
def test_settings_that_iperf3_refuses_or_ignores_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Iperf3(**fields)


def test_a_rate_is_not_greedy_and_several_flows_are_no_single_writer() -> None:
    assert Iperf3().greedy
    assert Iperf3(parallel=4, bidir=True).greedy
    assert not Iperf3(tcp_rate=Rate.of("1 Mbit/s")).greedy
    assert not Iperf3(pacing=Rate.of("1 Mbit/s")).greedy
    assert Iperf3().writer().write_size == 128 << 10
    assert Iperf3(parallel=4).writer().write_size is None


PARTS = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["udp", "sender", "receiver", "bits_per_second", "lost_percent"]), inner)
    ),
    max_leaves=12,
)


@given(PARTS, PARTS, st.sampled_from([None, 1, 2]))
def test_any_report_is_a_number_or_a_metric_error(streams: Any, total: Any, flow: int | None) -> None:
    text = json.dumps({"start": {"target_bitrate": total}, "end": {"streams": streams, "sum_received": total}})
    with suppress(MetricError):
        assert isinstance(iperf3_bits_per_second(text, "received", flow), float)
    with suppress(MetricError):
        assert isinstance(iperf3_datagrams(text, "lost_percent", flow), float)


@pytest.mark.parametrize("streams", ["null", "[1]", "[{}]", '[{"udp": 5}]', '[{"udp": {}}]'])
def test_a_damaged_report_is_named(streams: str) -> None:
    text = f'{{"start": {{}}, "end": {{"streams": {streams}}}}}'
    with pytest.raises(MetricError, match=r"^iperf3 did not report its flows$"):
        iperf3_bits_per_second(text, "received", 1)
