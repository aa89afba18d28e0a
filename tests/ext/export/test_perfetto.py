"""The trace is what Perfetto's own messages decode, and has the trial's segments, windows, queues and programs."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from lab import Bulk, Flow, Flows, Ping
from lab.errors import InputError
from lab.ext.export import perfetto
from lab.ext.export.protobuf import data, number
from lab.metric import Capture
from lab.metric.tcp_info import read
from lab.record.record import Record
from lab.units import to_plain
from tests.ext.export.conftest import DATA, LOSSY, Make

Event = protos.TrackEvent
QUEUE = [{"ns": 10**9 + at, "packets": at, "drops": at // 2, "backlog": at % 3} for at in range(6)]


class Trace:
    """A trace as Perfetto's messages have it."""

    def __init__(self, record: Record) -> None:
        file = io.BytesIO()
        self.count = perfetto.write(record, file)
        self.bytes = file.getvalue()
        decoded = protos.Trace.FromString(self.bytes)
        self.packets = [each for each in decoded.packet if each.HasField("track_event")]
        self.tracks = {
            each.track_descriptor.uuid: each.track_descriptor for each in decoded.packet if not each.timestamp
        }

    def path(self, uuid: int) -> str:
        track = self.tracks[uuid]
        name = track.name or track.process.process_name
        return f"{self.path(track.parent_uuid)}/{name}" if track.parent_uuid else name

    def of(self, end: str) -> list[Any]:
        return [each for each in self.packets if self.path(each.track_event.track_uuid).endswith(end)]


def test_every_segment_is_an_instant_of_its_connection(lossy: Record) -> None:
    trace, capture = Trace(lossy), Capture(DATA / "lossy.pcap")
    connection = "sender/10.0.1.1:37912 > 10.0.1.2:5001 on eth0"
    sent, received = trace.of(f"{connection}/sent"), trace.of(f"{connection}/received")
    assert trace.count == len(trace.packets)
    assert protos.Trace.FromString(trace.bytes).packet[0].sequence_flags == 1, "older versions of Perfetto need it"
    assert sorted(each.timestamp for each in (*sent, *received)) == capture.time_ns[capture.tcp].tolist()
    assert {each.track_event.type for each in sent} == {Event.TYPE_INSTANT}
    assert {each.track_event.name for each in sent} >= {"SYN", "data", "retransmission", "ACK"}
    lengths = [note.int_value for each in sent for note in each.track_event.debug_annotations if note.name == "length"]
    assert sum(lengths) == int(capture.payload[capture.source_port == 37912].sum())


def test_counters_have_the_samples_when_they_change(lossy: Record) -> None:
    trace = Trace(lossy)
    (samples,) = read(DATA / "lossy.tcp_info.bin")
    cwnd = trace.of("/cwnd")
    assert {each.track_event.type for each in cwnd} == {Event.TYPE_COUNTER}
    found = {each.timestamp: each.track_event.counter_value for each in cwnd}
    last, expected = None, {}
    for time_ns, value in zip(
        samples.time_ns.tolist(), (samples["snd_cwnd"] * samples["snd_mss"]).tolist(), strict=True
    ):
        if value != last:
            expected[time_ns] = last = value
    assert found == expected
    descriptor = trace.tracks[cwnd[0].track_event.track_uuid]
    assert descriptor.counter.unit == protos.CounterDescriptor.UNIT_SIZE_BYTES
    parent = trace.tracks[descriptor.parent_uuid]
    assert parent.sibling_merge_behavior == protos.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
    assert trace.of("/bytes in flight, sent")


def test_queues_and_programs_have_tracks(make: Make) -> None:
    flows = Flows((Flow("a", Bulk(client="sender", server="receiver")), Flow("b", Ping())))
    outputs = {
        "queue.path.forward.json": json.dumps(QUEUE).encode(),
        "a/bulk.sender.json": b'{"start_ns": 5}',
        "a/bulk.json": b'{"bytes": 9, "first_bytes": 1, "first_ns": 6, "last_ns": 8}',
    }
    trace = Trace(make(outputs, workload=to_plain(flows)))
    backlog = trace.of("link path/packets in the queue, forward")
    assert [each.track_event.counter_value for each in backlog] == [0, 1, 2, 0, 1, 2]
    assert [each.track_event.counter_value for each in trace.of("drops, forward")] == [0, 1, 2]
    assert [each.timestamp for each in trace.of("sender/a: sender")] == [5, 8]
    assert [each.timestamp for each in trace.of("receiver/a: receiver")] == [6, 8]


def test_the_same_record_gives_the_same_bytes(lossy: Record) -> None:
    assert Trace(lossy).bytes == Trace(Record(lossy.folder)).bytes


def test_samples_without_a_capture_are_drawn(make: Make) -> None:
    trace = Trace(make({"tcp_info.sender.bin": LOSSY["tcp_info.sender.bin"]}))
    assert trace.of("sender/port 37912 > port 5001/cwnd")


def test_a_trial_without_anything_to_draw_is_refused(make: Make) -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        perfetto.write(make({"ping.txt": b""}), io.BytesIO())


@given(st.integers(-(2**63), 2**63 - 1), st.text())
def test_fields_are_what_protobuf_decodes(value: int, text: str) -> None:
    note = protos.DebugAnnotation.FromString(number(4, value) + data(10, text))
    assert (note.int_value, note.name) == (value, text)


@given(st.integers(0, 2**64 - 1), st.binary(max_size=300))
def test_large_numbers_and_nested_messages_are_what_protobuf_decodes(value: int, name: bytes) -> None:
    inner = number(1, 7) + data(6, name.hex())
    track = protos.TrackDescriptor.FromString(number(1, value) + data(3, inner))
    assert (track.uuid, track.process.pid, track.process.process_name) == (value, 7, name.hex())


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_a_number_beyond_64_bits_is_refused(value: int) -> None:
    with pytest.raises(OverflowError):
        number(1, value)
