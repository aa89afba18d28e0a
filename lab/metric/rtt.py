"""Round trips that the ACKs of a connection give its sender, by the rules of the RFCs and of Linux.

RFC 7323 4.1: an ACK gives one by its time stamp echo if it acknowledges something new. RFC 6298 3 (Karn): without
that, one that covers a retransmission gives none. Linux prefers the time since a segment was sent to the echo
(tcp_clean_rtx_queue(), tcp_ack_update_rtt()): that of the first segment acknowledged, unless the ACK covers a
retransmission; else of the first one that SACK reports; else the echo, in ticks of its clock and one at least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.metric.capture import FIN, Capture
from lab.metric.flow import Connection, MetricError, Segments, bulk
from lab.metric.metrics import Metric, capture_of, tcp_info_of
from lab.metric.sack import Blocks, sack_blocks
from lab.record import Record
from lab.units import Value

__all__ = ["TICK_NS", "RoundTrips", "echo_error", "round_trips", "round_trips_of", "rtt_samples", "srtt_difference"]

Ints: TypeAlias = npt.NDArray[Any]
Bools: TypeAlias = npt.NDArray[np.bool_]

TICK_NS = 1_000_000  # of Linux's time stamp clock: TCP_TS_HZ is 1000


@dataclass(frozen=True)
class RoundTrips:
    """A row for each ACK that carries nothing else, as it reaches the sender. Round trips in ns; -1: none.

    `new`: whether it acknowledges something; `again`: whether that was retransmitted. `timed` is by the segments that
    it acknowledges, `sacked` by those that it selects, `echoed` by its time stamp.
    """

    time_ns: Ints
    new: Bools
    again: Bools
    timed: Ints
    sacked: Ints
    echoed: Ints
    handshake_ns: int

    def __len__(self) -> int:
        return len(self.time_ns)

    @cached_property
    def taken(self) -> Ints:
        """What Linux takes."""
        echoed = np.where(self.echoed >= 0, np.maximum(self.echoed, TICK_NS), -1)
        return np.where(self.timed >= 0, self.timed, np.where(self.sacked >= 0, self.sacked, echoed))

    @cached_property
    def smoothed_us(self) -> Ints:
        """Linux's srtt after each ACK, in us: tcp_rtt_estimator(), which counts in eighths."""
        eighths = 8 * (self.handshake_ns // 1000)
        found = np.empty(len(self), np.int64)
        for row, sample in enumerate((self.taken // 1000).tolist()):
            if sample >= 0:
                eighths += sample - (eighths >> 3)
            found[row] = eighths >> 3
        return found


def rtt_samples(
    of: Literal["acks", "new", "again"] = "acks", by: Literal["echo", "data", "linux"] = "echo", node: str = "sender"
) -> Metric:
    """Round trips that the sender gets for one of these ACKs: all; those that acknowledge something new; those of them
    that cover a retransmission. By time stamp; by what is acknowledged, its segment or else its time stamp; or as Linux
    takes them, by what is selected as well.
    """

    def measure(record: Record) -> Value:
        found = round_trips_of(record, node)
        which = {"acks": np.ones(len(found), bool), "new": found.new, "again": found.new & found.again}[of]
        if not which.any():
            raise MetricError(f"the capture has no such ACK: {of}")
        trips = {"echo": found.echoed, "data": np.maximum(found.timed, found.echoed), "linux": found.taken}[by]
        given = trips[which] >= 0
        return Value(int(given.sum()) / len(given), "1")

    return measure


def echo_error(node: str = "sender") -> Metric:
    """How far a round trip by time stamp is from that by the segment itself: the mean distance."""

    def measure(record: Record) -> Value:
        found = round_trips_of(record, node)
        both = (found.echoed >= 0) & (found.timed >= 0)
        if not both.any():
            raise MetricError("no ACK of the capture gives a round trip by time stamp and by segment")
        return Value(float(np.abs(found.echoed - found.timed)[both].mean()) / 1e9, "s")

    return measure


def srtt_difference(node: str = "sender") -> Metric:
    """The kernel's own srtt (tcp_info), less that of `RoundTrips.smoothed_us`: the largest distance of all samples."""

    def measure(record: Record) -> Value:
        found, kernel = round_trips_of(record, node), tcp_info_of(record, node)
        last = np.searchsorted(found.time_ns, kernel.time_ns, side="right") - 1
        after = last >= 0
        if not after.any():
            raise MetricError("tcp_info was not sampled while ACKs came in")
        distance = kernel["rtt"].astype(np.int64)[after] - found.smoothed_us[last[after]]
        return Value(int(np.abs(distance).max()) / 1e6, "s")

    return measure


def round_trips_of(record: Record, node: str) -> RoundTrips:
    """Those of the connection that carries most in the capture of `node`."""
    capture = capture_of(record, node)
    return round_trips(capture, bulk(capture))


def round_trips(capture: Capture, connection: Connection) -> RoundTrips:
    """Plays the sender's side of a capture that was taken there. Raises MetricError when the handshake is not in it."""
    back, ahead = connection.back, connection.forward
    rows = np.flatnonzero(back.pure_ack)
    sender = _Sender(sack_blocks(capture, back), ahead)
    found = np.array([sender.acknowledged(back, row) for row in rows.tolist()], np.int64).reshape(-1, 4)
    new = found[:, 0] > 0
    return RoundTrips(
        time_ns=back.time_ns[rows],
        new=new,
        again=found[:, 1] > 0,
        timed=found[:, 2],
        sacked=found[:, 3],
        echoed=np.where(new, _echoed(capture, ahead, back.packet[rows]), -1),
        handshake_ns=connection.handshake_ns(),
    )


@dataclass(slots=True)
class _Sent:
    seq: int
    end: int
    sent: int
    again: bool = False
    sacked: bool = False


class _Sender:
    """What is outstanding, by sequence number."""

    def __init__(self, blocks: Mapping[int, Blocks], ahead: Segments) -> None:
        self.blocks, self.una = blocks, 1  # the handshake acknowledged the SYN
        self.outstanding: list[_Sent] = []
        rows = np.flatnonzero((ahead.payload > 0) | (ahead.flags & FIN > 0))
        columns = (ahead.packet, ahead.seq, ahead.end, ahead.time_ns)
        self.coming = zip(*(column[rows].tolist() for column in columns), strict=True)
        self.next = next(self.coming, None)

    def acknowledged(self, back: Segments, row: int) -> tuple[int, int, int, int]:
        """(something new, something retransmitted, round trip by segment, by SACK) of an ACK; -1 for none."""
        self._send(int(back.packet[row]))
        now, ack = int(back.time_ns[row]), int(back.ack[row])
        sacked = self._select(now, ack, self.blocks.get(row, ()))
        covered = 0
        while covered < len(self.outstanding) and self.outstanding[covered].end <= ack:
            covered += 1
        gone, self.outstanding = self.outstanding[:covered], self.outstanding[covered:]
        again = any(each.again for each in gone)
        first = next((each for each in gone if not each.again and not each.sacked), None)
        new, self.una = ack > self.una, max(ack, self.una)
        return int(new), int(again), now - first.sent if first and not again else -1, sacked

    def _send(self, packet: int) -> None:
        """All that was captured before that packet."""
        while self.next and self.next[0] < packet:
            _, seq, end, time = self.next
            if self.outstanding and seq < self.outstanding[-1].end:
                for each in self.outstanding:
                    if seq < each.end and each.seq < end:
                        each.again, each.sent = True, time
            elif end > self.una:
                self.outstanding.append(_Sent(seq, end, time))
            self.next = next(self.coming, None)

    def _select(self, now: int, ack: int, blocks: Blocks) -> int:
        """Marks what these blocks select; the round trip of the first of it that was not retransmitted, or -1."""
        first = -1
        for left, right in sorted(blocks):
            for each in self.outstanding if right > ack else ():
                if each.seq >= left and each.end <= right and each.end > ack and not each.sacked:
                    each.sacked = True
                    if first < 0 and not each.again:
                        first = now - each.sent
        return first


def _echoed(capture: Capture, ahead: Segments, acks: Ints) -> Ints:
    """The sender's time stamp clock when each ACK arrives, less what it echoes, in ns; -1 without an echo."""
    stamped = ahead.packet[capture.timestamped[ahead.packet]]
    if not len(stamped):
        return np.full(len(acks), -1, np.int64)
    since = capture.time_ns[stamped] - capture.time_ns[stamped[0]]
    value = (capture.ts_value[stamped] - capture.ts_value[stamped[0]]).astype(np.int32).astype(np.int64)
    early = int((since - TICK_NS * value).min())  # the clock's tick 0 is at most a tick before the first segment
    if int((since - TICK_NS * value).max()) - early > TICK_NS:
        raise MetricError("the sender's time stamps are not those of a clock of 1 ms")
    now = (capture.time_ns[acks] - capture.time_ns[stamped[0]] - early) // TICK_NS
    echo = (capture.ts_echo[acks] - capture.ts_value[stamped[0]]).astype(np.int32)
    return np.where(capture.timestamped[acks], TICK_NS * (now - echo), -1)
