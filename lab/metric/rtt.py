"""Replay a capture to find the RTT samples that ACKs give the sender, with the rules of the RFCs and of Linux.

RFC 7323 4.1: an ACK of new data gives a sample through its timestamp echo. RFC 6298 3 (Karn): without timestamps, an
ACK that covers a retransmission gives no sample. Linux prefers the time since a segment's transmission to the echo
(tcp_clean_rtx_queue(), tcp_ack_update_rtt()). Linux uses the first acknowledged segment, unless the ACK covers a
retransmission. Otherwise, Linux uses the first segment that SACK reports, or else the echo, in ticks of the timestamp
clock and at least one tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from lab.metric.arrays import Bools, Ints, np
from lab.metric.capture import Capture
from lab.metric.flow import Connection, Segments, bulk
from lab.metric.metrics import capture_of, tcp_info_of
from lab.metric.packets import FIN
from lab.metric.sack import Blocks, sack_blocks
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value

TICK_NS = 1_000_000  # of Linux's timestamp clock: TCP_TS_HZ is 1000


@dataclass(frozen=True)
class RoundTrips:
    """Holds the round trips that each pure ACK gives the sender, in ns, with one row per ACK; -1 means no sample."""

    time_ns: Ints
    new: Bools  # whether the ACK acknowledges something
    again: Bools  # whether the newly acknowledged data was retransmitted
    timed: Ints  # round trip from the segments that it acknowledges
    sacked: Ints  # round trip from the segments that it selects (SACK)
    echoed: Ints  # round trip from its timestamp
    handshake_ns: int

    def __len__(self) -> int:
        return len(self.time_ns)

    @cached_property
    def taken(self) -> Ints:
        """Return the round trip that Linux uses for each ACK, in ns."""
        echoed = np.where(self.echoed >= 0, np.maximum(self.echoed, TICK_NS), -1)
        return np.where(self.timed >= 0, self.timed, np.where(self.sacked >= 0, self.sacked, echoed))

    @cached_property
    def smoothed_us(self) -> Ints:
        """Return Linux's srtt after each ACK, in us. tcp_rtt_estimator() counts in eighths."""
        eighths = 8 * (self.handshake_ns // 1000)
        found = np.empty(len(self), np.int64)
        for row, sample in enumerate((self.taken // 1000).tolist()):
            if sample >= 0:
                eighths += sample - (eighths >> 3)
            found[row] = eighths >> 3
        return found


@measures("1")
def rtt_samples(
    of: Literal["acks", "new", "again"] = "acks", by: Literal["echo", "data", "linux"] = "echo", node: str = "sender"
) -> Measure:
    """Measure the share of ACKs that give the sender an RTT sample.

    `of` chooses the ACKs: all ACKs, ACKs of new data ("new"), or ACKs of new data that also cover a retransmission
    ("again"). `by` chooses the source of a sample: the timestamp ("echo"), the acknowledged segment or else the
    timestamp ("data"), or Linux's choice, which includes segments that SACK selects ("linux").
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


@measures("s")
def echo_error(node: str = "sender") -> Measure:
    """Measure the mean difference between the RTT from the timestamp and the RTT from the segment itself."""

    def measure(record: Record) -> Value:
        found = round_trips_of(record, node)
        both = (found.echoed >= 0) & (found.timed >= 0)
        if not both.any():
            raise MetricError("no ACK of the capture gives a round trip by timestamp and by segment")
        return Value(float(np.abs(found.echoed - found.timed)[both].mean()) / 1e9, "s")

    return measure


@measures("s")
def srtt_difference(node: str = "sender") -> Measure:
    """Measure the largest difference between the kernel's own srtt (tcp_info) and `RoundTrips.smoothed_us`."""

    def measure(record: Record) -> Value:
        found, kernel = round_trips_of(record, node), tcp_info_of(record, node)
        last = np.searchsorted(found.time_ns, kernel.time_ns, side="right") - 1
        after = last >= 0
        if not after.any():
            raise MetricError("tcp_info was not sampled while ACKs came in")
        distance = kernel["rtt"].astype(np.int64)[after] - found.smoothed_us[last[after]]
        return Value(int(np.abs(distance).max()) / 1e6, "s")

    return measure


@measures("s")
def mean_rtt(node: str = "sender") -> Measure:
    """Measure the mean time from a segment to the ACK that acknowledges exactly it, in the capture of `node`.

    A segment counts if neither it nor a later one was sent again before the ACK. At the sender, this is the round trip.
    """

    def measure(record: Record) -> Value:
        connection = bulk(capture_of(record, node), record.port)
        ahead, back = connection.forward, connection.back
        rows = np.flatnonzero(ahead.data)
        time, end, again = ahead.time_ns[rows], (ahead.seq + ahead.payload)[rows], ahead.retransmitted[rows]
        acks = np.flatnonzero(back.ack >= 0)
        ack, at = np.maximum.accumulate(back.ack[acks]), back.time_ns[acks]
        new = np.flatnonzero(np.diff(ack, prepend=-1) > 0)
        highest = np.maximum.accumulate(end)
        which = np.minimum(np.searchsorted(highest, ack[new]), len(rows) - 1)
        latest = np.maximum.accumulate(np.where(again, end, -1))
        sent = np.maximum(np.searchsorted(time, at[new], side="right") - 1, 0)
        clean = (highest[which] == ack[new]) & ~again[which] & (latest[sent] <= ahead.seq[rows][which])
        since = (at[new] - time[which])[clean]
        if not len(since):
            raise MetricError("no ACK acknowledges exactly one segment that was sent once")
        return Value(float(since.mean()) / 1e9, "s")

    return measure


def round_trips_of(record: Record, node: str) -> RoundTrips:
    """Return the round trips of the connection that carries the most payload in the capture of `node`."""
    capture = capture_of(record, node)
    return round_trips(capture, bulk(capture))


def round_trips(capture: Capture, connection: Connection) -> RoundTrips:
    """Return the round trips of a connection, replayed from a capture at its sender.

    Raises MetricError if the handshake is not in the capture.
    """
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
    """Tracks the sender's outstanding segments, in the order of sequence numbers."""

    def __init__(self, blocks: Mapping[int, Blocks], ahead: Segments) -> None:
        self.blocks, self.una = blocks, 1  # the handshake acknowledged the SYN
        self.outstanding: list[_Sent] = []
        rows = np.flatnonzero((ahead.payload > 0) | (ahead.flags & FIN > 0))
        columns = (ahead.packet, ahead.seq, ahead.end, ahead.time_ns)
        self.coming = zip(*(column[rows].tolist() for column in columns), strict=True)
        self.next = next(self.coming, None)

    def acknowledged(self, back: Segments, row: int) -> tuple[int, int, int, int]:
        """Process an ACK. Return (new data, retransmitted data, round trip from the segment, from SACK); -1 means no
        round trip.
        """
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
        """Add the segments that were captured before this packet."""
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
        """Mark the segments in these SACK blocks.

        Return the round trip of the first segment that was not retransmitted, or -1.
        """
        first = -1
        for left, right in sorted(blocks):
            for each in self.outstanding if right > ack else ():
                if each.seq >= left and each.end <= right and each.end > ack and not each.sacked:
                    each.sacked = True
                    if first < 0 and not each.again:
                        first = now - each.sent
        return first


def _echoed(capture: Capture, ahead: Segments, acks: Ints) -> Ints:
    """Return the sender's timestamp clock at each ACK's arrival minus the echoed value, in ns; -1 without an echo."""
    timestamped, time, value_of, echo_of = capture.columns("timestamped", "time_ns", "ts_value", "ts_echo")
    stamped = ahead.packet[timestamped[ahead.packet]]
    if not len(stamped):
        return np.full(len(acks), -1, np.int64)
    since = time[stamped] - time[stamped[0]]
    value = (value_of[stamped] - value_of[stamped[0]]).astype(np.int32).astype(np.int64)
    early = int((since - TICK_NS * value).min())  # the clock's tick 0 is at most a tick before the first segment
    if int((since - TICK_NS * value).max()) - early > TICK_NS:
        raise MetricError("the sender's timestamp clock does not have ticks of 1 ms")
    now = (time[acks] - time[stamped[0]] - early) // TICK_NS
    echo = (echo_of[acks] - value_of[stamped[0]]).astype(np.int32)
    return np.where(timestamped[acks], TICK_NS * (now - echo), -1)
