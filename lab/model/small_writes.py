"""Messages in small pieces, each answered before the next (`lab.workload.SmallWrites`), played by the kernel's rules.

Both programs run on hosts where computing takes no time: a reader that is woken runs when nothing else is due at that
instant. From some message on, all are alike: those are not played.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from statistics import median
from typing import TypeVar

from lab.model.endpoint import Endpoint, Packet, Timers
from lab.model.line import ModelError, base_rtt, frame
from lab.model.mss import header_bytes, mss
from lab.model.path import Hop, Path
from lab.units import Size, Value

__all__ = [
    "Exchange",
    "data_packets",
    "exchange",
    "exchange_time",
    "file_in_first",
    "first_segment",
    "lone_acks",
    "message_latency",
]

_T = TypeVar("_T")

_REPLY = 2  # bytes
_PLAYED = 64  # messages: cwnd, quick ACKs and the timer's phase have settled long before
_LATE_SINCE = (4, 8)  # "timers: Switch to a non-cascading wheel", 500462a9de65
_ON_TIME = "timers-on-their-tick"  # the patch of experiments/tcp-nodelay


@dataclass(frozen=True, slots=True)
class Exchange:
    """What became of each message: seconds until its answer, the client's data packets and the payload of the first
    of them, and the server's packets that do nothing but acknowledge.
    """

    latency: tuple[float, ...]
    data: tuple[int, ...]
    first: tuple[int, ...]
    acks: tuple[int, ...]


def exchange(path: Path) -> Exchange:
    """Plays the path's workload. Raises ModelError for one that is not of small writes."""
    if path.workload.get("kind") != "small-writes":
        raise ModelError("only an exchange of small writes is predicted so")
    return _played(path)


def exchange_time(path: Path) -> Value:
    """Seconds for all messages. Nagle's rule holds all but the first piece back until the delayed ACK of that one.

    It comes HZ/25 ticks after the piece (TCP_ATO_MIN), and since Linux 4.8 on the tick after that.
    """
    return Value(sum(exchange(path).latency), "s")


def message_latency(path: Path) -> Value:
    """Seconds from the first write of a message to its answer, in the median."""
    return Value(median(exchange(path).latency), "s")


def data_packets(path: Path) -> Value:
    """Packets with data that a message takes, in the median: one for each write that neither Nagle nor a cork holds."""
    return Value(median(exchange(path).data), "1")


def lone_acks(path: Path) -> Value:
    """Packets by which the server only acknowledges, for a message, in the median.

    An ACK waits to ride on the answer (pingpong mode), but not for longer than until a reader has taken two segments
    that were not full: __tcp_cleanup_rbuf().
    """
    return Value(median(exchange(path).acks), "1")


def first_segment(path: Path) -> Value:
    """Payload of the first packet of a message, in the median: as much as is written before the socket may send."""
    return Value(median(exchange(path).first), "B")


def file_in_first(path: Path) -> Value:
    """1 if that packet has bytes of the file beside those written before it, else 0."""
    written = path.workload["writes"] * Size.of(path.workload["size"]).bytes
    return Value(int(first_segment(path).number > written), "1")


@lru_cache(maxsize=64)
def _played(path: Path) -> Exchange:
    return _Play(path).result()


class _Wire:
    """One direction of a path: when a packet that is sent now arrives."""

    def __init__(self, hops: Iterable[Hop], overhead: int) -> None:
        self._hops, self._overhead = tuple(hops), overhead
        self._idle = [0] * len(self._hops)

    def carry(self, now: int, payload: int) -> int:
        for index, hop in enumerate(self._hops):
            start = max(now, self._idle[index])
            wire = hop.rate.time_for(Size(payload + self._overhead)) if hop.rate else 0
            self._idle[index] = start + int(wire * 10**9)
            now = self._idle[index] + hop.delay.ns
        return now


class _Play:
    """The client, the server and the wires between them."""

    def __init__(self, path: Path) -> None:
        self.messages, writes = path.workload["messages"], path.workload["writes"]
        size, self.file = (Size.of(path.workload[name]).bytes for name in ("size", "file"))
        self.way = path.workload["way"]
        self.pieces = [writes * size] if self.way in ("writev", "one-buffer") else [size] * writes
        self.message = writes * size + self.file
        rtt = int(base_rtt(path, Size(header_bytes(path))).number * 1e9)
        late = path.kernel >= _LATE_SINCE and _ON_TIME not in path.patches
        timers = Timers(path.hz, mss(path), rtt, late)
        self.client = Endpoint(timers, nodelay=self.way in ("nodelay", "writev", "one-buffer"))
        self.server = Endpoint(timers)
        overhead = frame(path).bytes - mss(path)
        self.wires = {id(self.client): _Wire(path.forward, overhead), id(self.server): _Wire(path.back, overhead)}
        self.now, self.numbers = 0, count()
        self.arriving: list[tuple[int, int, Endpoint, Packet]] = []
        played = min(self.messages, _PLAYED)
        self.stamps = [0]
        self.data, self.first, self.acks = [0] * played, [0] * played, [0] * played

    def result(self) -> Exchange:
        """Plays the first messages; the rest is as the last but one of them, whose every packet was seen."""
        for number in range(len(self.data)):
            self._write()
            while self.client.rcv_nxt < (number + 1) * _REPLY:
                self._wait()
            self._sent(self.client, self.client.read())
            self.stamps.append(self.now)
        latency = [(end - start) / 1e9 for start, end in zip(self.stamps, self.stamps[1:], strict=False)]
        return Exchange(self._all(latency), self._all(self.data), self._all(self.first), self._all(self.acks))

    def _all(self, played: Sequence[_T]) -> tuple[_T, ...]:
        return (*played, *played[-2:-1] * (self.messages - len(played)))

    def _write(self) -> None:
        self.client.corked = self.way == "cork"
        for piece in (*self.pieces, self.file):
            self.client.write_seq += piece
            self._sent(self.client, self.client.write_xmit(self.now))
        self.client.corked = False
        self._sent(self.client, self.client.write_xmit(self.now))

    def _wait(self) -> None:
        """The server reads what is there; when there is nothing, time passes."""
        server = self.server
        if server.rcv_nxt > server.copied_seq:
            self._sent(server, server.read())
            if server.copied_seq % self.message == 0:
                server.write_seq += _REPLY
                self._sent(server, server.write_xmit(self.now))
            return
        ends = [(each.timers.time_of(each.expires), each) for each in (self.client, server) if each.expires is not None]
        due, end = min(ends, key=lambda timer: timer[0], default=(None, server))
        if due is not None and (not self.arriving or due <= self.arriving[0][0]):
            self.now = max(self.now, due)
            self._sent(end, end.delack_timer())
        elif self.arriving:
            self.now = self.arriving[0][0]
            self._arrive()
        else:
            raise ModelError("the exchange stands still: nothing is on its way, and no timer runs")

    def _sent(self, source: Endpoint, packets: Iterable[Packet]) -> None:
        """Onto the wire; what arrives at once is taken in before the sender goes on."""
        target = self.server if source is self.client else self.client
        for packet in packets:
            self._note(source, packet)
            arrival = self.wires[id(source)].carry(self.now, packet.end_seq - packet.seq)
            heapq.heappush(self.arriving, (arrival, next(self.numbers), target, packet))
        self._arrive()

    def _arrive(self) -> None:
        while self.arriving and self.arriving[0][0] <= self.now:
            _, _, target, packet = heapq.heappop(self.arriving)
            self._sent(target, target.receive(self.now, packet))

    def _note(self, source: Endpoint, packet: Packet) -> None:
        """Counts what the client sends, and what the server only acknowledges, for the message that it is of."""
        if source is self.client and packet.end_seq > packet.seq:
            number = packet.seq // self.message
            self.data[number] += 1
            if packet.seq % self.message == 0:
                self.first[number] = packet.end_seq - packet.seq
        elif source is self.server and packet.end_seq == packet.seq:
            self.acks[(packet.ack_seq - 1) // self.message] += 1
