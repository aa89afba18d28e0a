"""Metrics on records: the tools' own recorded output, and clear words where a record cannot answer."""

import json
import struct
from pathlib import Path

import pytest

from lab import metric
from lab.metric import MetricError
from lab.metric.tcp_info import FIELDS, TcpInfoError, read
from lab.metric.tools import iperf_bits_per_second, qperf_results
from lab.units import Value
from tests.kinds import Keep, Save, Segment

DATA = Path(__file__).parents[1] / "data"
RECORDED = DATA / "transfer.pcap"


def test_iperf3(record: Keep) -> None:
    done = record({"iperf3.json": (DATA / "iperf3.json").read_bytes()})
    assert metric.iperf3_goodput()(done) == Value(263699005.2332383, "bit/s")
    assert metric.iperf3_goodput("sent")(done) == Value(266336919.048021, "bit/s")


def test_iperf3_that_failed_says_why(record: Keep) -> None:
    done = record({"iperf3.json": (DATA / "iperf3.refused.json").read_bytes()})
    with pytest.raises(MetricError, match="unable to connect to server: Connection refused"):
        metric.iperf3_goodput()(done)


def test_qperf(record: Keep) -> None:
    text = (DATA / "qperf.txt").read_text()
    number = float(text.split("=")[1].split()[0])
    assert metric.qperf_goodput()(record({"qperf.txt": text.encode()})) == Value(number * 1e9, "bit/s")


def test_qperf_verbose() -> None:
    results = qperf_results((DATA / "qperf.verbose.txt").read_text())
    assert results["bw"] == Value(792e6 * 8, "bit/s")
    assert results["latency"].number == pytest.approx(27.2e-6)
    assert results["latency"].unit == "s"


@pytest.mark.parametrize(
    ("line", "bits"),
    [
        ("9.41 Gb/sec", 9.41e9),
        ("1,000 Kb/sec", 1e6),
        ("941.482 Mb/sec", 941.482e6),
        ("1.25 KB/sec", 1e4),
        ("8 bits/sec", 8),
    ],
)
def test_qperf_units(line: str, bits: float) -> None:
    assert qperf_results(f"tcp_bw:\n    bw  =  {line}\n")["bw"].number == pytest.approx(bits)


def test_qperf_that_failed_says_why() -> None:
    with pytest.raises(MetricError, match="failed to connect"):
        qperf_results("tcp_bw:\nfailed to connect\n")


def test_ping(record: Keep) -> None:
    done = record({"ping.txt": (DATA / "ping.txt").read_bytes()})
    printed = (DATA / "ping.txt").read_text().rpartition("= ")[2].split("/")
    assert metric.ping_rtt()(done).number == pytest.approx(float(printed[0]) / 1e3)
    assert metric.ping_rtt("max")(done).number == pytest.approx(float(printed[2]) / 1e3)


def test_bulk(record: Keep) -> None:
    output = {"bytes": 2_001_000, "first_bytes": 1000, "first_ns": 5, "last_ns": 1_000_000_005}
    assert metric.bulk_goodput()(record({"bulk.json": json.dumps(output).encode()})) == Value(16e6, "bit/s")


def qdiscs(drops: int) -> bytes:
    wire = {"node": "path", "interface": "b", "direction": "forward", "kind": "netem", "drops": drops}
    return json.dumps([wire, wire | {"direction": "back", "drops": 99}]).encode()


def test_drops_are_those_of_the_trial(record: Keep) -> None:
    done = record({"qdiscs.before.json": qdiscs(3), "qdiscs.after.json": qdiscs(5)})
    assert metric.drops("path", "forward")(done) == Value(2, "1")
    assert metric.any_drops()(done) == Value(1, "1")
    assert metric.any_drops("path", "back")(done) == Value(0, "1")
    with pytest.raises(MetricError, match="no qdisc of link 'other'"):
        metric.drops("other")(done)


def test_capture_metrics(record: Keep) -> None:
    done = record({"capture.sender.eth0.pcap": RECORDED.read_bytes()})
    assert metric.header_length()(done) == Value(32, "B")
    assert metric.retransmits("sender", "eth0")(done) == Value(0, "1")
    with pytest.raises(MetricError, match="still grew"):
        metric.window_plateau()(done)
    with pytest.raises(MetricError, match="'receiver' has no capture"):
        metric.retransmits("receiver")(done)


def test_window_plateau_and_mixed_headers(record: Keep, segment: Segment, handshake: list[bytes], save: Save) -> None:
    sent = [segment(True, 101 + 10 * i, 501, size=10, wscale=3 if i == 5 else -1) for i in range(6)]
    acks = [segment(False, 501, 111 + 10 * i, window=min(1000 + 500 * i, 2000)) for i in range(6)]
    packets = [*handshake, *(one for pair in zip(sent, acks, strict=True) for one in pair)]
    done = record({"capture.sender.eth0.pcap": save(packets).read_bytes()})
    assert metric.window_plateau()(done) == Value(2000 << 4, "B")
    with pytest.raises(MetricError, match="20 B in 5, 24 B in 1"):
        metric.header_length()(done)
    headers = 6 * (38 + 20 + 20) + 4  # Ethernet, IP, TCP, and the one option
    assert metric.header_share()(done).number == pytest.approx(headers / (headers + 6 * 10))
    settled = metric.window_settled()(done).number
    assert settled == pytest.approx(5, abs=1e-4), "the third ACK, a packet a second, has the largest window"


def sample(time: int, ports: int, cwnd: int, length: int) -> bytes:
    info = bytearray(length)
    struct.pack_into("<I", info, FIELDS["snd_cwnd"][0], cwnd)
    struct.pack_into("<Q", info, FIELDS["bytes_acked"][0], ports)
    return struct.pack("<qII", time, ports, length) + info


def test_tcp_info(record: Keep) -> None:
    small, large = 1 << 16 | 5201, 2 << 16 | 5201
    content = b"".join(sample(10 * i, ports, i, 232) for i in range(5) for ports in (small, large))
    done = record({"tcp_info.sender.bin": content, "tcp_info.cut.bin": content[:-1]})
    samples = metric.tcp_info_of(done, "sender")
    assert (samples.local_port, samples.remote_port, len(samples)) == (2, 5201, 5)
    assert samples["snd_cwnd"].tolist() == [0, 1, 2, 3, 4]
    assert samples.time_ns.tolist() == [0, 10, 20, 30, 40]
    assert len(FIELDS) >= 50
    with pytest.raises(TcpInfoError, match="no field 'total_rto'"):
        samples["total_rto"]
    with pytest.raises(TcpInfoError, match="ends within a sample"):
        read(done.path("tcp_info.cut.bin"))


def test_iperf(record: Keep) -> None:
    said = b"20261121101500,10.0.1.1,49930,10.0.1.2,5001,1,0.0-10.1,266076220,211185388\n"
    assert metric.iperf_goodput()(record({"iperf.server.csv": said})) == Value(211185388, "bit/s")
    with pytest.raises(MetricError, match="left no message"):
        iperf_bits_per_second("")


@pytest.mark.parametrize("measure", [metric.mss_in("SYN"), metric.fragments()])
@pytest.mark.parametrize("damage", [b"no capture at all, whoever reads it", RECORDED.read_bytes()[:20], b""])
def test_scapy_is_given_no_file_that_is_none(record: Keep, measure: metric.DeclaredMetric, damage: bytes) -> None:
    done = record({"capture.sender.eth0.pcap": damage})
    with pytest.raises(metric.CaptureError, match=r"capture\.sender\.eth0\.pcap: "):
        measure(done)
