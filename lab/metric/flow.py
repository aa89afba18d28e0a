"""Extract one TCP connection from a capture: data sent, acknowledged and in flight, over time.

Sequence numbers are unwrapped to 64 bits, relative to the first captured number, so that 10 s at 10 Gbit/s stay in
order. A connection may be larger than the memory: code that reads it part by part uses constant memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from lab.metric.arrays import Bools, Floats, Ints, np
from lab.metric.capture import Capture
from lab.metric.census import Census
from lab.metric.packets import ACK, FIN, RST, SYN, TCP, Flow, Packets
from lab.spec.metric import MetricError

_NOTHING = -(1 << 63)  # the highest number before anything was sent
_KEPT = 1 << 22  # captures with at most this many packets stay in memory


@dataclass(frozen=True)
class Segments:
    """Holds one direction of a connection, with one row per segment in capture order."""

    packet: Ints  # index in the capture
    time_ns: Ints
    seq: Ints  # unwrapped
    ack: Ints  # unwrapped; -1 before the first segment with an ACK
    flags: Ints
    window: Ints  # in bytes: scaled, except in a SYN (RFC 7323 2.2)
    payload: Ints
    header_length: Ints
    reached: int = _NOTHING  # the highest `end` of earlier segments

    def __len__(self) -> int:
        return len(self.packet)

    @cached_property
    def end(self) -> Ints:
        """Return the sequence number after each segment. A SYN or a FIN counts as one byte."""
        ends: Ints = self.seq + self.payload + (self.flags & SYN > 0) + (self.flags & FIN > 0)
        return ends

    @cached_property
    def highest(self) -> Ints:
        """Return the highest `end` up to and including each segment."""
        return np.maximum(np.maximum.accumulate(self.end), self.reached) if len(self) else self.end

    @cached_property
    def data(self) -> Bools:
        """Return whether each segment carries payload."""
        carries: Bools = self.payload > 0
        return carries

    @cached_property
    def pure_ack(self) -> Bools:
        """Return whether each segment is a pure ACK."""
        pure: Bools = (self.payload == 0) & (self.flags & (SYN | FIN | RST | ACK) == ACK)
        return pure

    @cached_property
    def retransmitted(self) -> Bools:
        """Return whether each segment repeats payload of an earlier segment, in part or as a whole."""
        before = np.concatenate(([self.reached], self.highest[:-1]))
        again: Bools = self.data & (self.seq < before[: len(self)])
        return again


_COLUMNS = [each.name for each in fields(Segments) if each.name != "reached"]


@dataclass(frozen=True)
class ConnectionPart:
    """Holds a connection's segments, in both directions, from one part of the capture."""

    forward: Segments
    back: Segments
    acked_before: int | None = None  # the highest number that `back` acknowledged in earlier parts, or None

    @cached_property
    def acked(self) -> Ints:
        """Return the highest number acknowledged up to and including each segment of `back`; -1 before the first."""
        highest: Ints = np.maximum.accumulate(self.back.ack) if len(self.back) else self.back.ack
        return highest if self.acked_before is None else np.maximum(highest, self.acked_before)

    @cached_property
    def inflight(self) -> Ints:
        """Return the bytes in flight after each segment of `forward`. The numbers are correct only in the sender's own
        capture.
        """
        last = np.searchsorted(self.back.packet, self.forward.packet)
        known = np.concatenate(([self.acked_before or 0], self.acked))[last]
        return np.where(known >= 0, self.forward.highest - np.maximum(known, 0), 0)


@dataclass(frozen=True)
class Connection:
    """Reads a connection's two directions: `forward` carries more payload, and `back` carries the ACKs for it."""

    capture: Capture
    flow: Flow  # forward

    def parts(self) -> Iterator[ConnectionPart]:
        """Yield the connection in parts, in the order of the capture. A small capture is read only once."""
        return iter(self._few) if len(self.capture) <= _KEPT else self._read()

    @cached_property
    def _few(self) -> tuple[ConnectionPart, ...]:
        return tuple(self._read())

    def _read(self) -> Iterator[ConnectionPart]:
        reader = _Reader(self.capture, self.flow)
        return (reader.part(packets) for packets in self.capture.blocks())

    @cached_property
    def forward(self) -> Segments:
        """Return all segments of the direction that carries more payload."""
        return _joined([part.forward for part in self.parts()])

    @cached_property
    def back(self) -> Segments:
        """Return all segments of the direction that carries the ACKs."""
        return _joined([part.back for part in self.parts()])

    @cached_property
    def inflight(self) -> Ints:
        """Return `ConnectionPart.inflight` of all parts."""
        return np.concatenate([part.inflight for part in self.parts()])

    @cached_property
    def payload_bytes(self) -> int:
        """Return the bytes of payload sent in `forward`, counting retransmitted bytes once."""
        bounds = [
            (int(sent.seq[sent.data].min()), int((sent.seq + sent.payload)[sent.data].max()))
            for sent in (part.forward for part in self.parts())
            if sent.data.any()
        ]
        return max(high for _, high in bounds) - min(low for low, _ in bounds) if bounds else 0

    @property
    def start_ns(self) -> int:
        """Return the capture time of the first segment with payload.

        Raises MetricError if there is no such segment.
        """
        if self._first_data is None:
            raise MetricError(f"the connection {' > '.join(self.flow.ends)} carries no payload")
        return self._first_data[0]

    @cached_property
    def end_ns(self) -> tuple[int | None, int | None]:
        """Return the capture times of the last segments of `forward` and `back`, or None for an empty direction."""
        last: list[int | None] = [None, None]
        for part in self.parts():
            for way, segments in enumerate((part.forward, part.back)):
                last[way] = int(segments.time_ns[-1]) if len(segments) else last[way]
        return last[0], last[1]

    @cached_property
    def acked_ns(self) -> tuple[int, int] | None:
        """Return the capture times of the last ACK, and of the first ACK with the highest acknowledged number.

        Return None if there is no ACK.
        """
        last = done = None
        most = -1
        for part in self.parts():
            has = part.back.ack >= 0
            if has.any():
                times, acked = part.back.time_ns[has], self._bytes(part.acked[has])
                last = int(times[-1])
                if acked[-1] > most:
                    most, done = int(acked[-1]), int(times[np.argmax(acked)])
        return None if last is None or done is None else (last, done)

    def goodput(self, start_ns: int, end_ns: int) -> float:
        """Return the goodput between two times, in bits per second acknowledged."""
        low, high = self._acked_at(np.array([start_ns, end_ns]))
        return float(8e9 * (high - low) / (end_ns - start_ns))

    def goodput_over_time(self, bin_ns: int) -> tuple[Floats, Floats]:
        """Return (bin starts in s since the first data segment, bits per second acknowledged in each bin)."""
        last = self.acked_ns[0] if self.acked_ns else self.start_ns
        edges = np.arange(self.start_ns, last + bin_ns, bin_ns)
        return (edges[:-1] - self.start_ns) / 1e9, 8e9 * np.diff(self._acked_at(edges)) / bin_ns

    def packets_per_tick(self, tick_ns: int = 10_000_000) -> tuple[Floats, Ints, Ints]:
        """Return the IO graph: (tick starts in s since the first data segment, packets forward, packets back)."""
        last = max(each for each in self.end_ns if each is not None)
        edges = np.arange(self.start_ns, last + tick_ns + 1, tick_ns)
        counts = np.zeros((2, len(edges) - 1), np.int64)
        for part in self.parts():
            for way, segments in enumerate((part.forward, part.back)):
                counts[way] += np.histogram(segments.time_ns, edges)[0]
        return (edges[:-1] - self.start_ns) / 1e9, counts[0], counts[1]

    def idle_share(self, start_ns: int, end_ns: int, gap_ns: int) -> float:
        """Return the share of a period in gaps longer than `gap_ns` between data segments."""
        idle, last = 0, start_ns
        for part in self.parts():
            times = part.forward.time_ns[part.forward.data]
            times = times[(times >= start_ns) & (times <= end_ns)]
            gaps = np.diff(times, prepend=last)
            idle += int(gaps[gaps > gap_ns].sum())
            last = int(times[-1]) if len(times) else last
        idle += end_ns - last if end_ns - last > gap_ns else 0
        return float(idle / (end_ns - start_ns))

    def handshake_ns(self) -> int:
        """Return the time from SYN to SYN-ACK, in ns. On the side that opens the connection, this time is the RTT.

        Raises MetricError if the handshake was not captured.
        """
        syns: dict[str, tuple[int, bool]] = {}  # the first SYN of either direction: its time, whether it acknowledges
        for part in self.parts():
            for way, each in (("forward", part.forward), ("back", part.back)):
                for at in np.flatnonzero(each.flags & SYN)[:1].tolist():
                    syns.setdefault(way, (int(each.time_ns[at]), bool(each.flags[at] & ACK)))
            if len(syns) == 2:
                break
        opening, answering = ([time for time, acks in syns.values() if acks is which] for which in (False, True))
        if not opening or not answering:
            raise MetricError(f"the handshake of {' > '.join(self.flow.ends)} was not captured")
        return answering[0] - opening[0]

    @cached_property
    def _first_data(self) -> tuple[int, int] | None:
        """Return the capture time and the sequence number of the first segment with payload."""
        for part in self.parts():
            for row in np.flatnonzero(part.forward.data)[:1].tolist():
                return int(part.forward.time_ns[row]), int(part.forward.seq[row])
        return None

    def _bytes(self, acked: Ints) -> Ints:
        """Return the number of payload bytes that these acknowledgement numbers cover."""
        counted: Ints = np.clip(acked - (self._first_data[1] if self._first_data else 0), 0, self.payload_bytes)
        return counted

    def _acked_at(self, when: Ints) -> Ints:
        """Return the bytes acknowledged by these times."""
        found = np.zeros(len(when), np.int64)
        for part in self.parts():
            has = part.back.ack >= 0
            known = np.searchsorted(part.back.time_ns[has], when, side="right")
            some = known > 0
            found[some] = self._bytes(part.acked[has])[known[some] - 1]
        return found


def bulk(capture: Capture, port: int | None = None) -> Connection:
    """Return the connection that carries the most payload.

    With `port`, only connections to a server on that port are considered. Raises MetricError if the capture holds no
    such TCP connection.
    """
    census = capture.census
    eligible = [
        number
        for number, flow in enumerate(census.flows)
        if flow.protocol == TCP and port in (None, flow.source_port, flow.destination_port)
    ]
    if not eligible:
        raise MetricError("the capture holds no TCP connection" + (f" to port {port}" if port else ""))
    return Connection(capture, census.flows[max(eligible, key=lambda number: (census.carried[number], -number))])


class _Reader:
    """Reads both directions of a connection from successive blocks of packets."""

    def __init__(self, capture: Capture, flow: Flow) -> None:
        census = capture.census
        ways = census.number(flow), census.number(flow.reverse)
        syns = census.syn(flow), census.syn(flow.reverse)
        shifts = [syn.window_scale if syn else None for syn in syns]
        first = origins(census, flow)
        self.packets = 0
        self._ways = [
            _Way(
                key=None if way is None else census.keys[way],
                seq=Unwrapped(own),
                ack=Unwrapped(other),
                shift=0 if None in shifts else shift or 0,
            )
            for way, own, other, shift in zip(ways, first, first[::-1], shifts, strict=True)
        ]
        self._acked: int | None = None

    def part(self, packets: Packets) -> ConnectionPart:
        """Return the part of the connection in the next packets of the capture."""
        forward, back = (way.segments(packets, self.packets) for way in self._ways)
        self.packets += len(packets)
        part = ConnectionPart(forward, back, self._acked)
        self._acked = int(part.acked[-1]) if len(back) else self._acked
        return part


def origins(census: Census, flow: Flow) -> tuple[int, int]:
    """Return the number, as sent, from which `Segments.seq` counts: in the direction `flow`, and in the other one."""
    ways = census.number(flow), census.number(flow.reverse)
    return _origin(census, *ways), _origin(census, *ways[::-1])


def _origin(census: Census, way: int | None, other: int | None) -> int:
    """Return a direction's first sequence number, or the first acknowledged number if no segment was captured."""
    if way is not None and way in census.first_seq:
        return census.first_seq[way]
    return census.first_ack.get(other, 0) if other is not None else 0


@dataclass(slots=True)
class Unwrapped:
    """Unwraps numbers modulo 2^32 to distances from the first `last`. Each is within 2^31 of the previous number."""

    last: int | None = None  # the previous number; None: distances are from the first number
    distance: int = 0

    def next(self, numbers: Ints) -> Ints:
        """Return the distances of the next numbers."""
        if not len(numbers):
            return np.zeros(0, np.int64)
        last = int(numbers[0]) if self.last is None else self.last
        steps = np.diff(numbers.astype(np.uint32), prepend=np.uint32(last))
        found = self.distance + np.cumsum(steps.view(np.int32), dtype=np.int64)
        self.last, self.distance = int(numbers[-1]), int(found[-1])
        return found


@dataclass(slots=True)
class _Way:
    """Reads one direction of a connection."""

    key: int | None  # of its packets; None without any
    seq: Unwrapped
    ack: Unwrapped
    shift: int
    reached: int = _NOTHING

    def segments(self, packets: Packets, first: int) -> Segments:
        """Return the connection's segments among these packets. The first packet has number `first` in the capture."""
        own = (
            packets.tcp & (packets.key == np.uint64(self.key)) if self.key is not None else np.zeros(len(packets), bool)
        )
        at = np.flatnonzero(own)
        flags = packets.flags[at]
        valid = flags & ACK > 0
        ack = np.full(len(at), -1, np.int64)
        ack[valid] = self.ack.next(packets.ack[at][valid])
        found = Segments(
            packet=first + at,
            time_ns=packets.time_ns[at],
            seq=self.seq.next(packets.seq[at]),
            ack=ack,
            flags=flags,
            window=packets.window[at].astype(np.int64) << np.where(flags & SYN > 0, 0, self.shift),
            payload=packets.payload[at].astype(np.int64),
            header_length=packets.header_length[at],
            reached=self.reached,
        )
        self.reached = int(found.highest[-1]) if len(found) else self.reached
        return found


def _joined(parts: Sequence[Segments]) -> Segments:
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    return Segments(**columns)
