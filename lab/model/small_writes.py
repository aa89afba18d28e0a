"""Simulate messages in small pieces (`SmallWrites`), each answered before the next message, with the kernel's rules.

Computing takes no time: a reader that wakes runs after all other events of that instant. After the first messages, all
messages are alike, so the later ones are not simulated.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from statistics import median
from typing import TypeVar

from lab.guest.task import Messages
from lab.model.coverage import check
from lab.model.delayed_ack import NEVER
from lab.model.endpoint import Endpoint, Packet
from lab.model.line import base_rtt, frame
from lab.model.mss import mss
from lab.model.scenario import ModelError, Scenario
from lab.model.wire import Wire, overflowing
from lab.spec.prediction import law, simulation
from lab.units import Value

_T = TypeVar("_T")

_DELACK_MIN = 1 / 25  # seconds: TCP_DELACK_MIN, HZ / 25
_REPLAYED = "tcp_sendmsg(), tcp_nagle_test(), tcp_write_xmit() and tcp_delack_timer(), Linux 7.2"
_PLAYED = 64  # messages, long after cwnd, quick ACKs and the timer's phase have settled


@dataclass(frozen=True, slots=True)
class Exchange:
    """Holds the result of each message."""

    latency: tuple[float, ...]  # seconds until its answer
    data: tuple[int, ...]  # the client's packets with data
    first: tuple[int, ...]  # payload of the first data packet, bytes
    acks: tuple[int, ...]  # the server's pure ACKs


@lru_cache(maxsize=64)
def exchange(scenario: Scenario) -> Exchange:
    """Return the simulated exchange. Raises ModelError for a workload without small writes, or a path that is not
    covered.
    """
    check(scenario)
    simulation = _Simulation(scenario)
    result = simulation.result()
    wires = (scenario.forward, simulation.forward), (scenario.reverse, simulation.reverse)
    if any(overflowing(hops, wire.peaks) for hops, wire in wires):
        raise ModelError("a queue is too short, and loses frames: the model covers an exchange without loss")
    return result


@law(
    formula="RTT, another RTT for what Nagle's rule holds back, and 40 ms if that is all that follows the first write",
    source="RFC 896; RFC 1122, 4.2.3",
)
def message_latency_by_stall(scenario: Scenario) -> Value:
    """A message takes a round trip, and another one if it ends with a partial segment, which must wait for an ACK.

    That ACK is delayed by 40 ms if no full segment came before the partial one.
    """
    rest = 0 if messages_of(scenario).nodelay else sum(_writes(scenario)[1:])
    held, stalls = rest % mss(scenario) > 0, 0 < rest < mss(scenario)
    return Value(base_rtt(scenario).number * (1 + held) + _DELACK_MIN * stalls, "s")


@law(formula="messages × the time for one", source="message_latency_by_stall")
def exchange_time_by_stalls(scenario: Scenario) -> Value:
    """The messages follow one another, each with its own stall."""
    return Value(messages_of(scenario).count * message_latency_by_stall(scenario).number, "s")


@law(formula="the sum of ⌈bytes / MSS⌉ over the first write and what waits behind it, or over all", source="RFC 896")
def data_packets_by_writes(scenario: Scenario) -> Value:
    """Nagle's rule joins all writes after the first into full segments. Without it, each write has its own packets."""
    first, *rest = _writes(scenario)
    joined = rest if messages_of(scenario).nodelay else [sum(rest)]
    return Value(sum(-(-size // mss(scenario)) for size in (first, *joined)), "1")


@law(formula="0, as each ACK rides on an answer", source="RFC 1122, 4.2.3.2")
def lone_acks_piggybacked(scenario: Scenario) -> Value:
    """Each delayed ACK travels with an answer, so no ACK is sent alone."""
    messages_of(scenario)
    return Value(0, "1")


@law(formula="min(bytes of the first write, MSS), where a cork makes one write of all", source="tcp(7)")
def first_segment_by_writes(scenario: Scenario) -> Value:
    """The first packet carries the first write."""
    return Value(min(_writes(scenario)[0], mss(scenario)), "B")


@law(formula="1 with a cork, else 0", source="tcp(7)")
def file_in_first_corked(scenario: Scenario) -> Value:
    """A cork joins the data written before the file to the file."""
    return Value(int(messages_of(scenario).cork), "1")


@simulation(of=_REPLAYED, law=exchange_time_by_stalls)
def exchange_time(scenario: Scenario) -> Value:
    """The exchange takes the sum of all messages' times.

    If Nagle's rule applies, it holds back all pieces after the first until the first piece's delayed ACK. That ACK
    comes HZ/25 ticks after the piece (TCP_ATO_MIN), or, since Linux 4.8, one tick later.
    """
    return Value(sum(exchange(scenario).latency), "s")


@simulation(of=_REPLAYED, law=message_latency_by_stall)
def message_latency(scenario: Scenario) -> Value:
    """The latency is the median time from a message's first write to its answer."""
    return Value(median(exchange(scenario).latency), "s")


@simulation(of=_REPLAYED, law=data_packets_by_writes)
def data_packets(scenario: Scenario) -> Value:
    """The median message needs one data packet for each write that neither Nagle's rule nor a cork holds back."""
    return Value(median(exchange(scenario).data), "1")


@simulation(of=_REPLAYED, law=lone_acks_piggybacked)
def lone_acks(scenario: Scenario) -> Value:
    """The figure is the median number of the server's pure ACKs per message.

    An ACK waits for the answer (ping-pong mode), but only until a reader has taken two partial segments
    (__tcp_cleanup_rbuf()).
    """
    return Value(median(exchange(scenario).acks), "1")


@simulation(of=_REPLAYED, law=first_segment_by_writes)
def first_segment(scenario: Scenario) -> Value:
    """The median message's first packet carries the data that is written before the socket may send."""
    return Value(median(exchange(scenario).first), "B")


@simulation(of=_REPLAYED, law=file_in_first_corked)
def file_in_first(scenario: Scenario) -> Value:
    """The figure is 1 if a message's first packet also carries bytes of the file, else 0."""
    return Value(int(first_segment(scenario).number > sum(messages_of(scenario).pieces)), "1")


def messages_of(scenario: Scenario) -> Messages:
    """Return the messages of small writes. Raises ModelError for any workload other than `SmallWrites`."""
    if scenario.writer.messages is None:
        raise ModelError("the model covers only an exchange of small writes")
    return scenario.writer.messages


def _writes(scenario: Scenario) -> tuple[int, ...]:
    """Return the number of bytes in each write of a message. With a cork, all writes become one."""
    messages = messages_of(scenario)
    return (messages.size,) if messages.cork else tuple(size for size in (*messages.pieces, messages.file) if size)


class _Simulation:
    """Simulates the client, the server and the wires between them."""

    def __init__(self, scenario: Scenario) -> None:
        self.messages = messages_of(scenario)
        self.client = Endpoint(scenario, self._ask, self.messages.nodelay)
        self.server = Endpoint(scenario.reversed(), self._answer)
        overhead = frame(scenario).bytes - mss(scenario)
        self.forward, self.reverse = Wire(scenario.forward, overhead), Wire(scenario.reverse, overhead)
        self.forward.carry(0, 0)  # the handshake's ACK goes just before the first message
        self.now, self.numbers = 0, count()
        self.arriving: list[tuple[int, int, Endpoint, Packet]] = []
        played = min(self.messages.count, _PLAYED)
        self.stamps = [0]
        self.data, self.first, self.acks = [0] * played, [0] * played, [0] * played

    def result(self) -> Exchange:
        """Simulate the first messages, and return the exchange.

        The later messages repeat the second-last simulated message.
        """
        for number in range(len(self.data)):
            self._write()
            while self.client.receiver.rcv_nxt < (number + 1) * self.messages.reply:
                self._wait()
            self.client.receiver.read(self.now)
            self._arrive()
            self.stamps.append(self.now)
        latency = [(end - start) / 1e9 for start, end in zip(self.stamps, self.stamps[1:], strict=False)]
        return Exchange(self._all(latency), self._all(self.data), self._all(self.first), self._all(self.acks))

    def _all(self, played: list[_T]) -> tuple[_T, ...]:
        return (*played, *played[-2:-1] * (self.messages.count - len(played)))

    def _write(self) -> None:
        if self.messages.cork:
            self.client.cork()
        for piece in (*self.messages.pieces, self.messages.file):
            self._written(self.client, piece)
        if self.messages.cork:
            self.client.uncork(self.now)
            self._arrive()

    def _written(self, end: Endpoint, size: int) -> None:
        """Simulate one write, which may sleep until there is room."""
        for _ in end.write(size, lambda: self.now):
            while end.sender.nospace:
                self._wait()
        self._arrive()

    def _wait(self) -> None:
        """Let the server read the available data. If no data is available, let time pass."""
        server = self.server.receiver
        if server.copied_seq < server.rcv_nxt:
            server.read(self.now)
            if server.copied_seq % self.messages.size == 0:
                self._written(self.server, self.messages.reply)
            self._arrive()
            return
        timers = (self.client.receiver, server)
        timer, due = min(((each, each.icsk_ack.due) for each in timers), key=lambda timer: timer[1])
        arrival = self.arriving[0][0] if self.arriving else NEVER
        self.now = max(self.now, min(due, arrival))
        if due == arrival == NEVER:
            raise ModelError("the exchange is stuck: no packet is on its way, and no timer runs")
        if due <= arrival:
            timer.delack_timer(self.now)
        self._arrive()

    def _arrive(self) -> None:
        """Process the packets that have arrived by now, and any packets that these trigger and that arrive at once."""
        while self.arriving and self.arriving[0][0] <= self.now:
            _, _, target, packet = heapq.heappop(self.arriving)
            target.receive(self.now, packet)

    def _ask(self, packet: Packet) -> None:
        """Send a packet from the client, and count it for its message."""
        if packet.len:
            number, offset = divmod(packet.seq, self.messages.size)
            self.data[number] += 1
            if not offset:
                self.first[number] = packet.len
        self._send(self.forward, self.server, packet)

    def _answer(self, packet: Packet) -> None:
        """Send a packet from the server, and count it if it is a pure ACK."""
        if not packet.len:
            self.acks[(packet.ack.ack_seq - 1) // self.messages.size] += 1
        self._send(self.reverse, self.client, packet)

    def _send(self, wire: Wire, target: Endpoint, packet: Packet) -> None:
        heapq.heappush(self.arriving, (wire.carry(self.now, packet.len), next(self.numbers), target, packet))
