"""Flent's data files, the kernel's counters and its count of acknowledged bytes, as trials left them."""

import gzip
import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import metric
from lab.metric import MetricError
from lab.metric.tcp_info import FIELDS
from lab.metric.tools import expert_repeats
from lab.units import Value
from tests.kinds import Keep

UPLOAD = Path(__file__).parents[1] / "data" / "tcp_upload.flent.gz"


def test_flent(record: Keep) -> None:
    done = record({"tcp_upload-then.flent.gz": UPLOAD.read_bytes()})
    assert metric.flent_file(done).name == "tcp_upload-then.flent.gz"
    assert metric.flent_goodput()(done).number / 1e9 == pytest.approx(9.417, abs=0.001)
    assert 1e3 * metric.flent_rtt()(done).number == pytest.approx(3.35, abs=0.01)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nothing", "not what Flent writes"),
        (gzip.compress(b"{}", mtime=0), "not what Flent writes"),
        (
            gzip.compress(json.dumps({"raw_values": {"Ping (ms) ICMP": [{"t": 1, "val": 2}]}}).encode(), mtime=0),
            "not what Flent",
        ),
        (
            gzip.compress(b'{"raw_values": {"TCP upload": [{"t": 1, "val": 1}]}, "metadata": {}}', mtime=0),
            "not finish",
        ),
    ],
)
def test_a_flent_that_failed_says_so(record: Keep, content: bytes, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        metric.flent_goodput()(record({"tcp_upload-then.flent.gz": content}))


def _flows(**flows: tuple[float, float, float]) -> bytes:
    """Flent's data file after flows with this start, time and Mbit/s."""
    raw = {
        name: [{"t": start + part * time, "dur": time / 4, "val": mean} for part in (0.25, 0.5, 0.75, 1)]
        for name, (start, time, mean) in flows.items()
    }
    about = {
        name: {"RUNNER": "NetperfDemoRunner", "MEAN_VALUE": mean, "ELAPSED_TIME": time}
        for name, (_, time, mean) in flows.items()
    }
    content = {"raw_values": raw, "metadata": {"SERIES_META": about}}
    return gzip.compress(json.dumps(content).encode(), mtime=0)


def test_one_of_twelve_flows_is_one(record: Keep) -> None:
    """Its name begins those of the tenth, the eleventh and the twelfth."""
    flows = {f"TCP upload::{number}": (1.0, 2.0, float(number)) for number in range(1, 13)}
    done = record({"a.flent.gz": _flows(**flows)})
    assert metric.flent_goodput(of="TCP upload::1")(done).number == 1e6
    assert metric.flent_goodput(of="TCP upload::12")(done).number == 12e6
    assert metric.flent_goodput(of="TCP upload")(done).number == 78e6


@pytest.mark.parametrize("first", [(1.0, 3.0, 20 / 3), (2.0, 2.0, 5.0)], ids=["longer", "later"])
def test_means_over_different_times_have_no_sum(record: Keep, first: tuple[float, float, float]) -> None:
    """On a link of 10 Mbit/s, a flow of 3 s and one of 2 s would have 11.7 Mbit/s."""
    done = record({"a.flent.gz": _flows(**{"TCP stream1": first, "TCP stream2": (1.0, 2.0, 5.0)})})
    with pytest.raises(MetricError, match=r"start or end 1\.0 s apart, .* name one flow, such as of='TCP stream1'"):
        metric.flent_goodput(of="TCP stream")(done)
    assert metric.flent_goodput(of="TCP stream2")(done).number == 5e6


def test_means_over_almost_the_same_time_have_a_sum(record: Keep) -> None:
    done = record({"a.flent.gz": _flows(**{"TCP stream1": (1.2, 2.1, 5.0), "TCP stream2": (1.0, 2.0, 5.0)})})
    assert metric.flent_goodput(of="TCP stream")(done).number == 10e6


PING = "Ping (ms) ICMP"


@pytest.mark.parametrize(
    "raw",
    [
        {"TCP upload": [{"val": 1}], PING: [{"t": 1, "val": 1}]},
        {"TCP upload": [{"t": 1, "val": 1}], PING: [{"t": 1, "val": None}]},
        {"TCP upload": [{"t": 1, "val": 1}], PING: [{"t": "now", "val": 1}]},
        {"TCP upload": [{"t": 1, "val": 1}], PING: 7},
        {"TCP upload": [7], PING: []},
        [],
    ],
)
@pytest.mark.parametrize("measure", [metric.flent_goodput(), metric.flent_rtt(), metric.flent_rtt(idle=True)])
def test_each_damage_of_a_flent_file_is_one_message(record: Keep, measure: metric.DeclaredMetric, raw: object) -> None:
    content = {"raw_values": raw, "metadata": {"SERIES_META": {"TCP upload": {"MEAN_VALUE": 1.0}}}}
    with pytest.raises(MetricError, match="is not what Flent writes after a transfer"):
        measure(record({"a.flent.gz": gzip.compress(json.dumps(content).encode(), mtime=0)}))


def test_a_mean_that_is_no_number_is_damage(record: Keep) -> None:
    content = {
        "raw_values": {"TCP upload": [{"t": 1, "val": 1}]},
        "metadata": {"SERIES_META": {"TCP upload": {"MEAN_VALUE": "x"}}},
    }
    with pytest.raises(MetricError, match="is not what Flent writes"):
        metric.flent_goodput()(record({"a.flent.gz": gzip.compress(json.dumps(content).encode(), mtime=0)}))


def test_goodput_is_no_round_trip() -> None:
    with pytest.raises(ValueError, match=r"'TCP upload::1' is no series of pings in Flent; .* begin with 'Ping'"):
        metric.flent_rtt(of="TCP upload::1")


@pytest.mark.parametrize(
    "make",
    [
        metric.flent_rtt,
        metric.message_latency,
        metric.one_way_delay,
        metric.delay_variation,
        metric.queue_delay,
        metric.completion_time,
    ],
)
@pytest.mark.parametrize("wrong", [95, -0.1])
def test_a_quantile_is_a_share(make: Callable[..., metric.DeclaredMetric], wrong: float) -> None:
    """Also `lab check` names it, because it makes the metrics."""
    with pytest.raises(ValueError, match=f"quantile: should be from 0 to 1, not {wrong}"):
        make(quantile=wrong)


def test_a_small_flent_file_that_unpacks_to_much_takes_no_memory(record: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a guest: 128 MiB of blanks, as they stay within a bound, would be valid JSON."""
    monkeypatch.setattr("lab.metric.flent.LONGEST_TEXT", 1 << 20)
    bomb = record({"tcp_upload-then.flent.gz": gzip.compress(b" " * (1 << 20), 9) * 128})
    bomb.load()  # to read a record takes memory, too
    tracemalloc.start()
    try:
        with pytest.raises(MetricError, match="is not what Flent writes"):
            metric.flent_goodput()(bomb)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_flent_that_left_nothing(record: Keep) -> None:
    with pytest.raises(MetricError, match=r"flent\.log"):
        metric.flent_rtt()(record({"flent.log": b""}))


def netstat(undone: int, segments: int) -> bytes:
    return f"TcpExt: Syncookies TCPDSACKUndo\nTcpExt: 0 {undone}\nTcp: RetransSegs\nTcp: {segments}\n".encode()


def test_counters_are_those_of_the_trial(record: Keep) -> None:
    done = record({"netstat.sender.before.txt": netstat(3, 1), "netstat.sender.after.txt": netstat(5, 9)})
    assert metric.counted("TcpExt.TCPDSACKUndo")(done) == Value(2, "1")
    assert metric.counted("Tcp.RetransSegs")(done) == Value(8, "1")
    with pytest.raises(MetricError, match=r"does not count Tcp\.Luck"):
        metric.counted("Tcp.Luck")(done)


def acked(at: int) -> bytes:
    """A byte acknowledged each millisecond."""
    info = bytearray(256)
    struct.pack_into("<Q", info, FIELDS["bytes_acked"][0], at)
    return struct.pack("<qII", 10**18 + at * 10**6, 1 << 16 | 2, len(info)) + bytes(info)


def test_acknowledged_bytes_between_two_times(record: Keep) -> None:
    done = record({"tcp_info.sender.bin": b"".join(acked(at) for at in range(0, 3001, 100))})
    assert metric.acked_goodput(1.05, 2.5)(done).number == pytest.approx(8000)
    with pytest.raises(MetricError, match="not until 4 s"):
        metric.acked_goodput(1, 4)(done)


def test_a_frame_that_wireshark_names_twice_counts_once(record: Keep) -> None:
    """tshark 4.4 on a transfer that lost 105 frames of a queue, by the queue's own count."""
    said = """
Notes (206)
=============
   Frequency      Group           Protocol  Summary
         101   Sequence                TCP  This frame is a (suspected) fast retransmission
         105   Sequence                TCP  This frame is a (suspected) retransmission
"""
    kept = record({"expert.sender.eth0.txt": said.encode()})
    assert metric.expert_retransmits()(kept) == Value(105, "1")
    assert expert_repeats(said) == (105, {"fast": 101})
