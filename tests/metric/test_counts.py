"""Flent's data files, the kernel's counters and its count of acknowledged bytes, as trials left them."""

import gzip
import json
import struct
import tracemalloc
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
            gzip.compress(json.dumps({"raw_values": {"TCP upload": [{"t": 1}]}, "metadata": {}}).encode(), mtime=0),
            "not finish",
        ),
    ],
)
def test_a_flent_that_failed_says_so(record: Keep, content: bytes, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        metric.flent_goodput()(record({"tcp_upload-then.flent.gz": content}))


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
