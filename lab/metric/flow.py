"""Extract one TCP connection from a capture: what was sent, acknowledged and in flight, over time.

Sequence numbers are unwrapped to 64 bits, relative to the first one seen, so that 10 s at 10 Gbit/s stay in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.errors import LabError
from lab.metric.capture import ACK, FIN, RST, SYN, TCP, Capture, Flow

__all__ = ["Connection", "MetricError", "Segments", "bulk"]

Ints: TypeAlias = npt.NDArray[Any]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]


class MetricError(LabError):
    """The record does not hold what the metric needs."""


@dataclass(frozen=True)
class Segments:
    """Segments are one direction of a connection: one row per segment, in capture order."""

    packet: Ints  # index in the capture
    time_ns: Ints
    seq: Ints  # unwrapped
    ack: Ints  # unwrapped; -1 before the first segment with an ACK
    flags: Ints
    window: Ints  # in bytes: scaled, except in a SYN (RFC 7323 2.2)
    payload: Ints
    header_length: Ints

    def __len__(self) -> int:
        return len(self.packet)

    @cached_property
    def end(self) -> Ints:
        """Return the sequence number after the segment; SYN and FIN count one each."""
        ends: Ints = self.seq + self.payload + (self.flags & SYN > 0) + (self.flags & FIN > 0)
        return ends

    @cached_property
    def highest(self) -> Ints:
        """Return the highest `end` up to and including each segment."""
        return np.maximum.accumulate(self.end) if len(self) else self.end

    @cached_property
    def data(self) -> Bools:
        """Return whether the segment carries payload."""
        carries: Bools = self.payload > 0
        return carries

    @cached_property
    def pure_ack(self) -> Bools:
        """Return whether the segment does nothing but acknowledge."""
        pure: Bools = (self.payload == 0) & (self.flags & (SYN | FIN | RST | ACK) == ACK)
        return pure

    @cached_property
    def retransmitted(self) -> Bools:
        """Return whether the segment repeats payload of an earlier one, in part or whole."""
        before = np.concatenate(([np.iinfo(np.int64).min], self.highest[:-1]))
        again: Bools = self.data & (self.seq < before[: len(self)])
        return again


@dataclass(frozen=True)
class Connection:
    """A connection has two directions: `forward` carries more payload, `back` acknowledges it."""

    flow: Flow
    forward: Segments
    back: Segments

    @cached_property
    def inflight(self) -> Ints:
        """Return the bytes in flight after each segment of `forward`, as its sender saw them if the capture was taken
        there.
        """
        acked = np.maximum.accumulate(self.back.ack) if len(self.back) else self.back.ack
        last = np.searchsorted(self.back.packet, self.forward.packet)
        known = np.concatenate(([0], acked))[last]
        return np.where(known >= 0, self.forward.highest - np.maximum(known, 0), 0)

    @cached_property
    def acked(self) -> tuple[Ints, Ints]:
        """Return (times in ns, bytes acknowledged by then), one entry per segment of `back` with an ACK."""
        has = self.back.ack >= 0
        times, ack = self.back.time_ns[has], np.maximum.accumulate(self.back.ack[has])
        first = int(self.forward.seq[self.forward.data][0]) if self.forward.data.any() else 0
        return times, np.clip(ack - first, 0, int(self.payload_bytes))

    @property
    def payload_bytes(self) -> int:
        """Return the bytes of payload sent in `forward`, counting retransmitted bytes once."""
        sent = self.forward
        if not sent.data.any():
            return 0
        return int((sent.seq + sent.payload)[sent.data].max() - sent.seq[sent.data].min())

    @property
    def start_ns(self) -> int:
        """Return when the first segment with payload was captured.

        Raises MetricError when none was.
        """
        if not self.forward.data.any():
            raise MetricError(f"the connection {_name(self.flow)} carries no payload")
        return int(self.forward.time_ns[self.forward.data][0])

    def goodput(self, start_ns: int, end_ns: int) -> float:
        """Return the bits per second acknowledged between two times."""
        low, high = self._acked_at(np.array([start_ns, end_ns]))
        return float(8e9 * (high - low) / (end_ns - start_ns))

    def goodput_over_time(self, bin_ns: int) -> tuple[Floats, Floats]:
        """Return (bin starts in s since the first data segment, bits per second acknowledged in each bin)."""
        times, _ = self.acked
        edges = np.arange(self.start_ns, (int(times[-1]) if len(times) else self.start_ns) + bin_ns, bin_ns)
        return (edges[:-1] - self.start_ns) / 1e9, 8e9 * np.diff(self._acked_at(edges)) / bin_ns

    def packets_per_tick(self, tick_ns: int = 10_000_000) -> tuple[Floats, Ints, Ints]:
        """Return the IO graph: (tick starts in s since the first data segment, packets forward, packets back)."""
        last = max(int(each.time_ns[-1]) for each in (self.forward, self.back) if len(each))
        edges = np.arange(self.start_ns, last + tick_ns + 1, tick_ns)
        counts = [np.histogram(each.time_ns, edges)[0] for each in (self.forward, self.back)]
        return (edges[:-1] - self.start_ns) / 1e9, counts[0], counts[1]

    def idle_share(self, start_ns: int, end_ns: int, gap_ns: int) -> float:
        """Return the share of a period that lies in gaps longer than `gap_ns` between data segments."""
        times = self.forward.time_ns[self.forward.data]
        times = times[(times >= start_ns) & (times <= end_ns)]
        gaps = np.diff(np.concatenate(([start_ns], times, [end_ns])))
        return float(gaps[gaps > gap_ns].sum() / (end_ns - start_ns))

    def handshake_ns(self) -> int:
        """Return the time from SYN to SYN-ACK, which at the side that opens is the RTT.

        Raises MetricError when the handshake was not captured.
        """
        syns = [(each, np.flatnonzero(each.flags & SYN)) for each in (self.forward, self.back)]
        opening = [each.time_ns[at[0]] for each, at in syns if len(at) and not each.flags[at[0]] & ACK]
        answering = [each.time_ns[at[0]] for each, at in syns if len(at) and each.flags[at[0]] & ACK]
        if not opening or not answering:
            raise MetricError(f"the handshake of {_name(self.flow)} was not captured")
        return int(answering[0] - opening[0])

    def _acked_at(self, when: Ints) -> Ints:
        times, acked = self.acked
        return np.concatenate(([0], acked))[np.searchsorted(times, when, side="right")]


def bulk(capture: Capture, port: int | None = None) -> Connection:
    """Return the connection that carries the most payload; of those with a server on `port`, where that is given.

    Raises MetricError when the capture holds no such TCP connection.
    """
    number = {
        flow: number
        for number, flow in enumerate(capture.flows)
        if flow.protocol == TCP and port in (None, flow.source_port, flow.destination_port)
    }
    if not number:
        raise MetricError("the capture holds no TCP connection" + (f" to port {port}" if port else ""))
    carried = np.bincount(capture.flow[capture.tcp], weights=capture.payload[capture.tcp], minlength=len(capture.flows))
    flow = max(number, key=lambda each: (carried[number[each]], -number[each]))
    ways = [np.flatnonzero(capture.tcp & (capture.flow == number.get(way, -2))) for way in (flow, flow.reverse)]
    return _connection(capture, flow, ways[0], ways[1])


def _connection(capture: Capture, flow: Flow, ahead: Ints, behind: Ints) -> Connection:
    def origin(one: Ints, other: Ints) -> int:
        """Return the first sequence number of one direction, or what the other acknowledges if none was captured."""
        if len(one):
            return int(capture.seq[one[0]])
        acks = other[capture.flags[other] & ACK > 0]
        return int(capture.ack[acks[0]]) if len(acks) else 0

    origins = origin(ahead, behind), origin(behind, ahead)
    shifts = [_scale(capture, way) for way in (ahead, behind)]
    scaled = None not in shifts
    forward = _segments(capture, ahead, origins, shifts[0] if scaled else 0)
    back = _segments(capture, behind, origins[::-1], shifts[1] if scaled else 0)
    return Connection(flow, forward, back)


def _segments(capture: Capture, at: Ints, origins: tuple[int, int], shift: int | None) -> Segments:
    flags = capture.flags[at]
    valid = flags & ACK > 0
    ack = np.full(len(at), -1, np.int64)
    ack[valid] = _unwrap(capture.ack[at][valid], origins[1])
    for_syn = np.where(flags & SYN > 0, 0, shift or 0)
    return Segments(
        packet=at,
        time_ns=capture.time_ns[at],
        seq=_unwrap(capture.seq[at], origins[0]),
        ack=ack,
        flags=flags,
        window=capture.window[at].astype(np.int64) << for_syn,
        payload=capture.payload[at].astype(np.int64),
        header_length=capture.header_length[at],
    )


def _unwrap(numbers: Ints, origin: int) -> Ints:
    """Return the distances from `origin` of numbers modulo 2^32, each within 2^31 of the one before it."""
    steps = np.diff(numbers.astype(np.uint32), prepend=np.uint32(origin))
    return np.cumsum(steps.view(np.int32), dtype=np.int64)


def _scale(capture: Capture, way: Ints) -> int | None:
    syns = way[capture.flags[way] & SYN > 0]
    return capture.options(int(syns[0])).window_scale if len(syns) else None


def _name(flow: Flow) -> str:
    return f"{flow.source}:{flow.source_port} > {flow.destination}:{flow.destination_port}"
