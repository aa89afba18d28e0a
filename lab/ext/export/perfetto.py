"""Write a trial as a trace for Perfetto: each node's connections, windows and workloads, and the links' queues.

The trace is a sequence of TracePacket messages with track events (protos/perfetto/trace/trace_packet.proto and
track_event/*.proto of Perfetto, whose field numbers never change). Times are those of the trial's own clock, in ns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec

from lab.errors import InputError
from lab.ext.export.outputs import Number, typed
from lab.ext.export.processes import Span, spans
from lab.ext.export.protobuf import data, number
from lab.ext.export.segments import TracedConnection, TracedSegment, samples_of, traced
from lab.guest import outputs
from lab.guest.network import WAYS
from lab.metric.packets import ACK, FIN, RST, SYN
from lab.metric.tcp_info import Samples
from lab.record.record import Record

_SEQUENCE = 1  # of all packets: one writer
_CLEARED = 1  # SequenceFlags: no earlier state of the sequence is needed
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_COUNT, _BYTES = 2, 3  # CounterDescriptor.Unit
_APART = 2  # TrackDescriptor.SiblingMergeBehavior: else Perfetto makes one track of all connections with the same ports
_FLAGS = ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST"))
_UNKNOWN = (1 << 31) - 1  # the kernel's ssthresh before the first loss


def write(record: Record, file: BinaryIO) -> int:
    """Write the trace, and return its number of events.

    Each node is a process. Its connections have tracks for the segments that it sent and received, and counters for the
    bytes in flight and for the values of tcp_info. Each link's queue is a process, too. Raises InputError if the record
    has none of these, and the errors of damaged files.
    """
    trace = _Trace(file)
    nodes = {each["name"]: _Group(trace, each["name"]) for each in record.network["nodes"]}
    for span in spans(record):
        _show_span(_group(trace, nodes, span.node), span)
    sampled: set[tuple[str, int, int]] = set()
    for each in traced(record):
        sampled |= {(each.node, sample.local_port, sample.remote_port) for sample in each.samples}
        _show_connection(_group(trace, nodes, each.node), each)
    for node, group in nodes.items():
        for sample in samples_of(record, node):
            if (node, sample.local_port, sample.remote_port) not in sampled:
                track = group.track(f"port {sample.local_port} > port {sample.remote_port}")
                _show_samples(group, track, sample)
    for link in record.network["links"]:
        _show_link(trace, record, link["name"])
    if not trace.events:
        raise InputError(f"trial {record.address[:12]} has nothing to draw: no probe captured or sampled anything")
    return trace.events


class _QueueSample(msgspec.Struct):
    """One sample of the probe `QueueState`."""

    ns: Number
    backlog: Number
    drops: Number
    marks: Number | None = None


@dataclass
class _Trace:
    file: BinaryIO
    events: int = 0
    tracks: int = 0
    processes: int = 0

    def packet(self, *fields: bytes) -> None:
        first = () if self.tracks > 1 else (number(13, _CLEARED),)
        self.file.write(data(1, b"".join((*fields, *first, number(10, _SEQUENCE)))))

    def track(self, *fields: bytes) -> int:
        """Describe a new track, and return its number."""
        self.tracks += 1
        self.packet(data(60, b"".join((number(1, self.tracks), *fields))))
        return self.tracks

    def event(self, time_ns: int, kind: int, track: int, *fields: bytes) -> None:
        self.events += 1
        self.packet(number(8, time_ns), data(11, b"".join((number(9, kind), number(11, track), *fields))))

    def count(self, time_ns: int, track: int, value: int) -> None:
        """Write the value that a counter has from this time on."""
        self.event(time_ns, _COUNTER, track, number(30, value))


@dataclass
class _Group:
    """A process in the trace. Its description is written before its first track."""

    trace: _Trace
    name: str
    number: int = field(default=0, init=False)

    def track(self, name: str, parent: int = 0) -> int:
        """Describe a track of this process, or a track below another one, and return its number."""
        return self.trace.track(data(2, name), number(5, parent or self._own()), number(15, _APART))

    def counter(self, name: str, parent: int = 0, unit: int = _BYTES, unit_name: str = "") -> int:
        """Describe a counter, and return its number."""
        unit_of = data(6, unit_name) if unit_name else number(3, unit)
        return self.trace.track(data(2, name), number(5, parent or self._own()), data(8, unit_of))

    def _own(self) -> int:
        if not self.number:
            self.trace.processes += 1
            self.number = self.trace.track(data(3, number(1, self.trace.processes) + data(6, self.name)))
        return self.number


def _group(trace: _Trace, nodes: dict[str, _Group], name: str) -> _Group:
    return nodes.setdefault(name, _Group(trace, name))


def _show_span(group: _Group, span: Span) -> None:
    track = group.track(span.name)
    group.trace.event(span.start_ns, _BEGIN, track, data(23, span.name))
    group.trace.event(span.end_ns, _END, track)


def _show_connection(group: _Group, each: TracedConnection) -> None:
    trace = group.trace
    own = group.track(f"{each.name} on {each.interface}" if each.interface else each.name)
    tracks = {True: group.track("sent", own), False: group.track("received", own)}
    flying = {
        way: group.counter(f"bytes in flight, {name}", own) for way, name in ((True, "sent"), (False, "received"))
    }
    last = {True: -1, False: -1}
    for segment in each.segments():
        trace.event(segment.time_ns, _INSTANT, tracks[segment.sent], data(23, _word(segment)), *_facts(segment))
        for way, now in ((segment.sent, segment.in_flight), (not segment.sent, segment.opposite_in_flight)):
            if now != last[way] and not (now == 0 and last[way] < 0):
                trace.count(segment.time_ns, flying[way], now)
                last[way] = now
    for sample in each.samples:
        _show_samples(group, own, sample)


def _word(segment: TracedSegment) -> str:
    """Return the kind of the segment: SYN, FIN, RST, retransmission, data or ACK."""
    flags = [word for flag, word in _FLAGS if segment.flags & flag]
    if flags:
        return "+".join(flags)
    if segment.payload:
        return "data" if segment.repeats is None else "retransmission"
    return "ACK" if segment.flags & ACK else "segment"


def _facts(segment: TracedSegment) -> Iterator[bytes]:
    facts = {"seq": segment.seq, "length": segment.payload, "window": segment.window}
    facts |= {"ack": segment.ack} if segment.ack >= 0 else {}
    facts |= {"repeats segment": segment.repeats} if segment.repeats is not None else {}
    for name, value in facts.items():
        yield data(4, data(10, name) + number(4, value))


def _show_samples(group: _Group, parent: int, samples: Samples) -> None:
    """Write the counters of tcp_info, each value only when it changes. The kernel's unknown values are left out."""
    mss = samples["snd_mss"].astype("i8")
    for name, unit, unit_name, column in (
        ("cwnd", _BYTES, "", samples["snd_cwnd"] * mss),
        ("ssthresh", _BYTES, "", samples["snd_ssthresh"] * mss * (samples["snd_ssthresh"] < _UNKNOWN)),
        ("srtt", 0, "us", samples["rtt"]),
        ("retransmissions", _COUNT, "", samples["total_retrans"]),
    ):
        if column.any():
            track = group.counter(name, parent, unit, unit_name)
            _show_counter(group.trace, track, zip(samples.time_ns.tolist(), column.tolist(), strict=True))


def _show_counter(trace: _Trace, track: int, values: Iterable[tuple[int, int]]) -> None:
    last = None
    for time_ns, value in values:
        if value != last:
            trace.count(time_ns, track, value)
            last = value


def _show_link(trace: _Trace, record: Record, link: str) -> None:
    group = _Group(trace, f"link {link}")
    for way in WAYS:
        name = outputs.queue(link, way)
        samples = typed(record, name, list[_QueueSample]) or []
        for what, said in (("backlog", "packets in the queue"), ("drops", "drops"), ("marks", "marks")):
            values = [(each.ns, value) for each in samples if (value := getattr(each, what)) is not None]
            if values:
                _show_counter(trace, group.counter(f"{said}, {way}", unit=_COUNT), values)
