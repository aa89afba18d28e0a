"""Play messages in small pieces, each answered before the next (`lab.workload.SmallWrites`), by the kernel's rules.

Both programs run on hosts where computing takes no time: a reader that is woken runs when nothing else is due at that
instant. From some message on, all are alike, and are not played.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from statistics import median
from typing import Any, TypeVar

from lab.model.delayed_ack import NEVER
from lab.model.endpoint import Endpoint, Packet
from lab.model.line import ModelError, base_rtt, frame
from lab.model.mss import mss
from lab.model.path import Path
from lab.model.wire import Wire
from lab.prediction import law, simulation
from lab.units import Size, Value

__all__ = [
    "Exchange",
    "data_packets",
    "data_packets_by_writes",
    "exchange",
    "exchange_time",
    "exchange_time_by_stalls",
    "file_in_first",
    "file_in_first_corked",
    "first_segment",
    "first_segment_by_writes",
    "lone_acks",
    "lone_acks_piggybacked",
    "message_latency",
    "message_latency_by_stall",
]

_T = TypeVar("_T")

_REPLY = 2  # bytes
_DELACK_MIN = 1 / 25  # seconds: TCP_DELACK_MIN, HZ / 25
_REPLAYED = "tcp_sendmsg(), tcp_nagle_test(), tcp_write_xmit() and tcp_delack_timer(), Linux 7.2"
_PLAYED = 64  # messages: cwnd, quick ACKs and the timer's phase have settled long before


@dataclass(frozen=True, slots=True)
class Exchange:
    """Tells what became of each message."""

    latency: tuple[float, ...]  # seconds until its answer
    data: tuple[int, ...]  # the client's packets with data
    first: tuple[int, ...]  # payload of the first of these, bytes
    acks: tuple[int, ...]  # the server's packets that only acknowledge


def exchange(path: Path) -> Exchange:
    """Play the path's workload. Raises ModelError for one that is not of small writes."""
    _small_writes(path)
    return _played(path)


@law(
    formula="RTT, another RTT for what Nagle's rule holds back, and 40 ms if that is all that follows the first write",
    source="RFC 896; RFC 1122, 4.2.3",
)
def message_latency_by_stall(path: Path) -> Value:
    """A message takes a round trip, and another one if its end is no full segment, which has to wait for an ACK.

    That ACK is delayed by 40 ms where no full segment has gone ahead.
    """
    rest = sum(_writes(path)[1:]) if _small_writes(path)["way"] == "plain" else 0
    held, stalls = rest % mss(path) > 0, 0 < rest < mss(path)
    return Value(base_rtt(path).number * (1 + held) + _DELACK_MIN * stalls, "s")


@law(formula="messages × the time for one", source="message_latency_by_stall")
def exchange_time_by_stalls(path: Path) -> Value:
    """The messages follow one another, each with its stall."""
    return Value(path.workload["messages"] * message_latency_by_stall(path).number, "s")


@law(formula="the sum of ⌈bytes / MSS⌉ over the first write and what waits behind it, or over all", source="RFC 896")
def data_packets_by_writes(path: Path) -> Value:
    """Nagle's rule joins all writes behind the first into full segments; without it each write has its own packets."""
    first, *rest = _writes(path)
    joined = [sum(rest)] if path.workload["way"] == "plain" else rest
    return Value(sum(-(-size // mss(path)) for size in (first, *joined)), "1")


@law(formula="0, as each ACK rides on an answer", source="RFC 1122, 4.2.3.2")
def lone_acks_piggybacked(path: Path) -> Value:
    """A delayed ACK finds the answer to carry it."""
    _small_writes(path)
    return Value(0, "1")


@law(formula="min(bytes of the first write, MSS), where a cork makes one write of all", source="tcp(7)")
def first_segment_by_writes(path: Path) -> Value:
    """The first packet carries the first write."""
    return Value(min(_writes(path)[0], mss(path)), "B")


@law(formula="1 with a cork, else 0", source="tcp(7)")
def file_in_first_corked(path: Path) -> Value:
    """A cork joins what is written before the file and the file."""
    return Value(int(_small_writes(path)["way"] == "cork"), "1")


@simulation(of=_REPLAYED, law=exchange_time_by_stalls)
def exchange_time(path: Path) -> Value:
    """The exchange takes the sum of all messages' times. Where it applies, Nagle's rule holds back all but the first
    piece until its delayed ACK.

    That ACK comes HZ/25 ticks after the piece (TCP_ATO_MIN), and since Linux 4.8 on the tick after that.
    """
    return Value(sum(exchange(path).latency), "s")


@simulation(of=_REPLAYED, law=message_latency_by_stall)
def message_latency(path: Path) -> Value:
    """The latency is the median time from a message's first write to its answer."""
    return Value(median(exchange(path).latency), "s")


@simulation(of=_REPLAYED, law=data_packets_by_writes)
def data_packets(path: Path) -> Value:
    """A message takes one packet with data for each write that neither Nagle nor a cork holds, in the median."""
    return Value(median(exchange(path).data), "1")


@simulation(of=_REPLAYED, law=lone_acks_piggybacked)
def lone_acks(path: Path) -> Value:
    """The figure is the median number, per message, of the server's packets that only acknowledge.

    An ACK waits to ride on the answer (pingpong mode), but not for longer than until a reader has taken two segments
    that were not full: __tcp_cleanup_rbuf().
    """
    return Value(median(exchange(path).acks), "1")


@simulation(of=_REPLAYED, law=first_segment_by_writes)
def first_segment(path: Path) -> Value:
    """A message's first packet carries as much as is written before the socket may send, in the median."""
    return Value(median(exchange(path).first), "B")


@simulation(of=_REPLAYED, law=file_in_first_corked)
def file_in_first(path: Path) -> Value:
    """The figure is 1 if a message's first packet has bytes of the file besides those written before it, else 0."""
    written = path.workload["writes"] * Size.of(path.workload["size"]).bytes
    return Value(int(first_segment(path).number > written), "1")


def _small_writes(path: Path) -> Mapping[str, Any]:
    """Return the path's workload. Raises ModelError for one that is not of small writes."""
    if path.workload.get("kind") != "small-writes":
        raise ModelError("only an exchange of small writes is predicted so")
    return path.workload


def _writes(path: Path) -> tuple[int, ...]:
    """Return the bytes of each write of a message; a cork makes one of all."""
    workload = _small_writes(path)
    size, file = (Size.of(workload[name]).bytes for name in ("size", "file"))
    pieces = [size] * workload["writes"]
    match workload["way"]:
        case "cork":
            return (sum(pieces) + file,)
        case "writev" | "one-buffer":
            pieces = [sum(pieces)]
    return (*pieces, file) if file else tuple(pieces)


@lru_cache(maxsize=64)
def _played(path: Path) -> Exchange:
    return _Simulation(path).result()


class _Simulation:
    """Plays the client, the server and the wires between them."""

    def __init__(self, path: Path) -> None:
        self.messages, writes = path.workload["messages"], path.workload["writes"]
        size, self.file = (Size.of(path.workload[name]).bytes for name in ("size", "file"))
        self.way = path.workload["way"]
        self.pieces = [writes * size] if self.way in ("writev", "one-buffer") else [size] * writes
        self.message = writes * size + self.file
        self.client = Endpoint(path, self._ask, nodelay=self.way in ("nodelay", "writev", "one-buffer"))
        self.server = Endpoint(path.turned(), self._answer)
        overhead = frame(path).bytes - mss(path)
        self.forward, self.reverse = Wire(path.forward, overhead), Wire(path.back, overhead)
        self.forward.carry(0, 0)  # the handshake's ACK, just ahead of the first message
        self.now, self.numbers = 0, count()
        self.arriving: list[tuple[int, int, Endpoint, Packet]] = []
        played = min(self.messages, _PLAYED)
        self.stamps = [0]
        self.data, self.first, self.acks = [0] * played, [0] * played, [0] * played

    def result(self) -> Exchange:
        """Play the first messages; the rest is as the last but one of them, whose every packet was seen."""
        for number in range(len(self.data)):
            self._write()
            while self.client.receiver.rcv_nxt < (number + 1) * _REPLY:
                self._wait()
            self.client.receiver.read(self.now)
            self._arrive()
            self.stamps.append(self.now)
        latency = [(end - start) / 1e9 for start, end in zip(self.stamps, self.stamps[1:], strict=False)]
        return Exchange(self._all(latency), self._all(self.data), self._all(self.first), self._all(self.acks))

    def _all(self, played: Sequence[_T]) -> tuple[_T, ...]:
        return (*played, *played[-2:-1] * (self.messages - len(played)))

    def _write(self) -> None:
        if self.way == "cork":
            self.client.cork()
        for piece in (*self.pieces, self.file):
            self._written(self.client, piece)
        if self.way == "cork":
            self.client.uncork(self.now)
            self._arrive()

    def _written(self, end: Endpoint, size: int) -> None:
        """Play one write, which may sleep for room."""
        for _ in end.write(size, lambda: self.now):
            while end.sender.nospace:
                self._wait()
        self._arrive()

    def _wait(self) -> None:
        """Let the server read what is there; when there is nothing, let time pass."""
        server = self.server.receiver
        if server.copied_seq < server.rcv_nxt:
            server.read(self.now)
            if server.copied_seq % self.message == 0:
                self._written(self.server, _REPLY)
            self._arrive()
            return
        timers = (self.client.receiver, server)
        timer, due = min(((each, each.icsk_ack.due) for each in timers), key=lambda timer: timer[1])
        arrival = self.arriving[0][0] if self.arriving else NEVER
        self.now = max(self.now, min(due, arrival))
        if due == arrival == NEVER:
            raise ModelError("the exchange stands still: nothing is on its way, and no timer runs")
        if due <= arrival:
            timer.delack_timer(self.now)
        self._arrive()

    def _arrive(self) -> None:
        """Take in what has arrived by now, and what that sets off, if it arrives at once."""
        while self.arriving and self.arriving[0][0] <= self.now:
            _, _, target, packet = heapq.heappop(self.arriving)
            target.receive(self.now, packet)

    def _ask(self, packet: Packet) -> None:
        """Send a packet of the client's, and count it for its message."""
        if packet.len:
            number, offset = divmod(packet.seq, self.message)
            self.data[number] += 1
            if not offset:
                self.first[number] = packet.len
        self._send(self.forward, self.server, packet)

    def _answer(self, packet: Packet) -> None:
        """Send a packet of the server's, and count it if it only acknowledges."""
        if not packet.len:
            self.acks[(packet.ack.ack_seq - 1) // self.message] += 1
        self._send(self.reverse, self.client, packet)

    def _send(self, wire: Wire, target: Endpoint, packet: Packet) -> None:
        heapq.heappush(self.arriving, (wire.carry(self.now, packet.len), next(self.numbers), target, packet))
