"""Write the TCP connections of a trial as qlog, which qvis opens.

qlog is an IETF log format. The file follows draft-ietf-quic-qlog-main-schema-05, the last draft with the version "0.3",
because qvis reads no later version. There are no qlog events for TCP. So a segment is a packet in QUIC's events
(draft-ietf-quic-qlog-quic-events-04), as when qvis converts TCP captures. The byte stream is stream 0, an ACK
acknowledges packet numbers, and the receive window is a MAX_DATA frame.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, BinaryIO

import msgspec

from lab.errors import InputError
from lab.ext.export.segments import TracedConnection, TracedSegment, captures, samples_of, traced
from lab.metric.capture import Capture
from lab.metric.packets import ACK, FIN, SYN
from lab.metric.tcp_info import Samples
from lab.record.record import Record

_UNKNOWN = (1 << 31) - 1  # the kernel's ssthresh before the first loss
_STATES = ("open", "disorder", "cwr", "recovery", "loss")  # enum tcp_ca_state, include/uapi/linux/tcp.h
_EVENTS = 4096  # written at a time

_Event = dict[str, Any]


def write(record: Record, file: BinaryIO) -> int:
    """Write each connection as one trace for each interface where it was captured, and return the number of events.

    A connection that was sampled (tcp_info) but not captured has a trace with the samples only. Times are in
    milliseconds since `reference_time`, the first event of the trial, which all traces share. Raises InputError if the
    record has neither captured nor sampled connections, and the errors of damaged files.
    """
    start = _start(record)
    trial = record.trial
    head = {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": " ".join(filter(None, (trial.claim, trial.arm, trial.point, f"seed {trial.seed}"))),
        "description": f"trial {record.address}",
    }
    file.write(_open(head) + b',"traces":[')
    count = traces = 0
    for trace, events in _traces(record, start):
        file.write((b",\n" if traces else b"\n") + _open(trace) + b',"events":[')
        count += _put(file, events)
        file.write(b"\n]}")
        traces += 1
    file.write(b"\n]}\n")
    if not traces:
        raise InputError(f"trial {record.address[:12]} has no TCP connection: no probe captured or sampled one")
    return count


def _traces(record: Record, start: int) -> Iterator[tuple[_Event, Iterator[_Event]]]:
    captured: set[tuple[str, int, int]] = set()
    for each in traced(record):
        captured |= {(each.node, sample.local_port, sample.remote_port) for sample in each.samples}
        yield _trace(each, start), _events(each, start)
    for node in sorted(end["name"] for end in record.network["nodes"]):
        for sample in samples_of(record, node):
            if (node, sample.local_port, sample.remote_port) not in captured:
                about = {
                    "title": f"port {sample.local_port} > port {sample.remote_port}",
                    "description": "tcp_info samples; no capture",
                    "vantage_point": {"name": node, "type": "unknown"},
                    "common_fields": _common(start),
                }
                yield about, (event for _, event in _sampled(sample, start))


def _trace(each: TracedConnection, start: int) -> _Event:
    at = f"{each.node} {each.interface}".strip()
    if each.passing:
        point = {"name": at, "type": "network", "flow": "client"}
    else:
        point = {"name": at, "type": "client" if each.sent else "server"}
    return {"title": each.name, "vantage_point": point, "common_fields": _common(start)}


def _common(start: int) -> _Event:
    return {"time_format": "relative", "reference_time": start // 1_000_000, "protocol_type": ["TCP"]}


def _events(each: TracedConnection, start: int) -> Iterator[_Event]:
    """Yield the events of the segments and the samples, in the order of time."""
    samples = heapq.merge(*(_sampled(sample, start) for sample in each.samples), key=itemgetter(0))
    coming = next(samples, None)
    windows, first = [-1, -1], int(each.has_handshake)
    for segment in each.segments():
        while coming and coming[0] <= segment.time_ns:
            yield coming[1]
            coming = next(samples, None)
        yield from _of_segment(segment, start, first, windows)
    if coming:
        yield coming[1]
    yield from (event for _, event in samples)


def _of_segment(segment: TracedSegment, start: int, first: int, windows: list[int]) -> Iterator[_Event]:
    """Yield the event of a segment. Before a retransmission, also yield the loss that it implies.

    `first` is the number of the first byte of data: 1 after a SYN. `windows` holds the last offered limit of each
    direction.
    """
    time = _ms(segment.time_ns, start)
    if segment.sent and segment.repeats is not None:
        lost = {"header": {"packet_type": _kind(segment), "packet_number": segment.repeats}}
        yield {"time": time, "name": "recovery:packet_lost", "data": lost}
    frames: list[_Event] = []
    if segment.acknowledged:
        frames.append({"frame_type": "ack", "acked_ranges": segment.acknowledged})
    if segment.payload or segment.flags & FIN:
        stream = {"stream_id": 0, "offset": max(segment.seq - first, 0), "length": segment.payload}
        last = {"fin": True} if segment.flags & FIN else {}
        frames.append({"frame_type": "stream", **stream, **last})
    limit = segment.ack - first + segment.window
    if segment.flags & (SYN | ACK) == ACK and limit != windows[segment.sent]:
        windows[segment.sent] = limit
        frames.append({"frame_type": "max_data", "maximum": max(limit, 0)})
    header: _Event = {
        "packet_type": _kind(segment),
        "packet_number": segment.number,
        "flags": segment.flags,
        "sequence_number": segment.seq,
    }
    if segment.ack >= 0:
        header["acknowledgement_number"] = segment.ack
    raw = {"length": segment.header + segment.payload, "payload_length": segment.payload}
    data = {"header": header, "raw": raw, "frames": frames, "window": segment.window}
    yield {"time": time, "name": f"transport:packet_{'sent' if segment.sent else 'received'}", "data": data}


def _kind(segment: TracedSegment) -> str:
    """Return the packet type: qvis matches the packets of both ends from the first "initial" one on."""
    return "initial" if segment.flags & SYN else "1RTT"


def _sampled(samples: Samples, start: int) -> Iterator[tuple[int, _Event]]:
    """Yield (time in ns, event) of each sample: the metrics, and a change of the congestion state before them."""
    named = (*_NEEDED, *(name for name in _NEWER if name in samples))
    columns = {name: samples[name].tolist() for name in named}
    state = None
    for row, time_ns in enumerate(samples.time_ns.tolist()):
        now = {name: column[row] for name, column in columns.items()}
        time = _ms(time_ns, start)
        if now["ca_state"] != state:
            data = {"new": _state(now["ca_state"])}
            data |= {} if state is None else {"old": _state(state)}
            yield time_ns, {"time": time, "name": "recovery:congestion_state_updated", "data": data}
            state = now["ca_state"]
        yield time_ns, {"time": time, "name": "recovery:metrics_updated", "data": _metrics(now)}


_NEEDED = ["ca_state", "rtt", "rttvar", "snd_cwnd", "snd_mss", "snd_ssthresh", "unacked", "sacked", "lost", "retrans"]
_NEWER = ("min_rtt", "pacing_rate")  # not in the struct of every kernel


def _metrics(now: dict[str, int]) -> _Event:
    """Return the metrics of a sample: RTTs in ms, windows in bytes, and the pacing rate in bit/s.

    The packets in flight are those of tcp_packets_in_flight(), include/net/tcp.h.
    """
    flying = max(now["unacked"] - now["sacked"] - now["lost"] + now["retrans"], 0)
    data: _Event = {
        "congestion_window": now["snd_cwnd"] * now["snd_mss"],
        "packets_in_flight": flying,
        "bytes_in_flight": flying * now["snd_mss"],
    }
    if now["rtt"]:  # 0 before the first round trip
        data |= {"smoothed_rtt": now["rtt"] / 1000, "rtt_variance": now["rttvar"] / 1000}
    if now.get("min_rtt", _UNKNOWN) < _UNKNOWN:
        data["min_rtt"] = now["min_rtt"] / 1000
    if now["snd_ssthresh"] < _UNKNOWN:
        data["ssthresh"] = now["snd_ssthresh"] * now["snd_mss"]
    if 0 < now.get("pacing_rate", 0) < 1 << 60:
        data["pacing_rate"] = 8 * now["pacing_rate"]
    return data


def _state(number: int) -> str:
    return _STATES[number] if number < len(_STATES) else str(number)


def _start(record: Record) -> int:
    """Return the time of the trial's first packet or sample, in ns, rounded down to a millisecond."""
    times = [
        int(packets.time_ns[0])
        for name in captures(record)
        for packets in [next(Capture(record.path(name)).blocks(), None)]
        if packets is not None and len(packets)
    ]
    for node in record.network["nodes"]:
        times += [int(sample.time_ns[0]) for sample in samples_of(record, node["name"])]
    return min(times, default=0) // 1_000_000 * 1_000_000


def _ms(time_ns: int, start: int) -> float:
    return (time_ns - start) / 1_000_000


def _open(head: _Event) -> bytes:
    """Return a JSON object without its last brace."""
    return msgspec.json.encode(head)[:-1]


def _put(file: BinaryIO, events: Iterator[_Event]) -> int:
    encode = msgspec.json.Encoder().encode
    count, waiting = 0, bytearray()
    for count, event in enumerate(events, 1):
        waiting += (b",\n" if count > 1 else b"\n") + encode(event)
        if count % _EVENTS == 0:
            file.write(waiting)
            waiting.clear()
    file.write(waiting)
    return count
