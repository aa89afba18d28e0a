"""A trial's qlog is what the drafts define and qvis reads, and says what the capture and the samples say."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lab.errors import InputError, LabError
from lab.ext.export import qlog
from lab.metric import Capture
from lab.metric.tcp_info import read
from lab.record.record import Record
from tests.ext.export.conftest import DATA, LOSSY, Make

SCHEMA = jsonschema.Draft202012Validator(json.loads(Path(__file__).with_name("qlog.schema.json").read_text()))


def written(record: Record) -> tuple[bytes, dict[str, Any]]:
    file = io.BytesIO()
    count = qlog.write(record, file)
    plain = json.loads(file.getvalue())
    assert count == sum(len(trace["events"]) for trace in plain["traces"])
    return file.getvalue(), plain


def named(trace: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [event for event in trace["events"] if event["name"].endswith(name)]


@pytest.mark.parametrize("capture", ["lossy", "transfer", "hole", "small_writes"])
def test_the_file_is_what_the_drafts_define(capture: str, make: Make) -> None:
    _, plain = written(make({"capture.sender.eth0.pcap": DATA / f"{capture}.pcap"} | dict([*LOSSY.items()][1:])))
    SCHEMA.validate(plain)
    for trace in plain["traces"]:
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times), "qvis sorts other files, and warns"
        assert trace["events"], "qvis stops at a trace without events"


def test_the_schema_refuses_what_the_drafts_do_not_allow(lossy: Record) -> None:
    _, plain = written(lossy)
    plain["traces"][0]["events"][0]["data"]["header"]["packet_type"] = "tcp"
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(plain)


def test_the_same_record_gives_the_same_bytes(lossy: Record) -> None:
    assert written(lossy)[0] == written(Record(lossy.folder))[0]


def test_qvis_finds_the_version_and_the_format_in_the_first_bytes(lossy: Record) -> None:
    head = written(lossy)[0][:1024].decode()
    assert '"qlog_version":"0.3"' in head
    assert '"qlog_format":"JSON"' in head
    assert "NDJSON" not in head
    assert "JSON-SEQ" not in head


def test_all_segments_are_packets_of_the_one_who_captured_them(lossy: Record) -> None:
    (trace,) = written(lossy)[1]["traces"]
    capture = Capture(DATA / "lossy.pcap")
    assert trace["title"] == "10.0.1.1:37912 > 10.0.1.2:5001"
    assert trace["vantage_point"] == {"name": "sender eth0", "type": "client"}
    sent, received = named(trace, "packet_sent"), named(trace, "packet_received")
    assert len(sent) + len(received) == int(capture.tcp.sum())
    assert sum(each["data"]["raw"]["payload_length"] for each in (*sent, *received)) == int(
        capture.payload[capture.tcp].sum()
    )
    start = trace["common_fields"]["reference_time"]
    first = capture.time_ns[capture.tcp][0] - start * 1_000_000
    assert sent[0]["time"] == first / 1e6
    assert sent[0]["data"]["header"]["packet_type"] == "initial"
    numbers = {each["data"]["header"]["packet_number"] for each in sent}
    for each in received:
        for frame in each["data"]["frames"]:
            for low, high in frame.get("acked_ranges", ()):
                assert {low, high} <= numbers


def test_a_loss_comes_before_the_retransmission_that_shows_it(lossy: Record) -> None:
    (trace,) = written(lossy)[1]["traces"]
    events = trace["events"]
    losses = [index for index, event in enumerate(events) if event["name"] == "recovery:packet_lost"]
    assert losses
    sent = {each["data"]["header"]["packet_number"]: each for each in named(trace, "packet_sent")}
    for index in losses:
        lost = sent[events[index]["data"]["header"]["packet_number"]]
        again = events[index + 1]
        assert again["name"] == "transport:packet_sent"
        assert again["data"]["header"]["sequence_number"] == lost["data"]["header"]["sequence_number"]
        assert again["data"]["header"]["packet_number"] > lost["data"]["header"]["packet_number"]


def test_each_sample_gives_its_metrics(lossy: Record) -> None:
    (trace,) = written(lossy)[1]["traces"]
    (samples,) = read(DATA / "lossy.tcp_info.bin")
    found = named(trace, "metrics_updated")
    assert len(found) == len(samples)
    last = found[-1]["data"]
    assert last["smoothed_rtt"] == samples["rtt"][-1] / 1000
    assert last["min_rtt"] == samples["min_rtt"][-1] / 1000
    assert last["congestion_window"] == samples["snd_cwnd"][-1] * samples["snd_mss"][-1]
    states = [each["data"]["new"] for each in named(trace, "congestion_state_updated")]
    assert states[0] == "open"
    assert "recovery" in states


def test_the_other_end_is_a_server_and_a_node_between_is_the_network(make: Make) -> None:
    both = make({"capture.receiver.eth0.pcap": DATA / "lossy.pcap", "capture.sender.eth0.pcap": DATA / "transfer.pcap"})
    traces = written(both)[1]["traces"]
    assert [each["vantage_point"]["type"] for each in traces] == ["server", "network", "network"]
    assert traces[1]["vantage_point"]["flow"] == "client"
    assert len({each["common_fields"]["reference_time"] for each in traces}) == 1


def test_samples_without_a_capture_are_a_trace_of_their_own(make: Make) -> None:
    _, plain = written(make({"tcp_info.sender.bin": DATA / "lossy.tcp_info.bin"}))
    SCHEMA.validate(plain)
    (trace,) = plain["traces"]
    assert trace["title"] == "port 37912 > port 5001"
    assert len(named(trace, "metrics_updated")) == 17


def test_a_trial_without_tcp_is_refused(make: Make) -> None:
    with pytest.raises(InputError, match="no TCP connection"):
        qlog.write(make({"ping.txt": b""}), io.BytesIO())


def test_a_damaged_capture_is_named(make: Make) -> None:
    with pytest.raises(LabError, match="not a pcap file"):
        qlog.write(make({"capture.sender.eth0.pcap": b"\0" * 100}), io.BytesIO())


def test_a_capture_that_ends_within_a_packet_is_read_up_to_it(make: Make) -> None:
    whole = (DATA / "lossy.pcap").read_bytes()
    _, plain = written(make({"capture.sender.eth0.pcap": whole[: len(whole) // 2]}))
    SCHEMA.validate(plain)
    assert len(plain["traces"]) == 1
