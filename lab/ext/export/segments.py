"""Follow one TCP connection of a capture, and find the segments that each segment acknowledges or repeats.

The exported formats have one event per segment. A capture may be larger than memory, so this module reads it in parts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from lab.guest import outputs
from lab.metric.capture import Capture
from lab.metric.flow import Connection, Segments, origins
from lab.metric.packets import ACK, SYN, TCP, Flow
from lab.metric.sack import Blocks, distance
from lab.metric.tcp_info import Samples, read
from lab.record.record import Record

_LONGEST_WITHOUT_SACK = 32  # bytes of a header with timestamps and without SACK blocks
_MOST = 1 << 20  # transmissions that wait for an ACK: more than any window; the oldest are forgotten

Ranges = list[list[int]]
_place = attrgetter("packet")


@dataclass(frozen=True, slots=True)
class TracedSegment:
    """Describes one segment of a connection in a capture.

    Numbers count from 0 in each direction: `number` counts segments, and `seq` and `ack` count bytes, with SYN and FIN
    as one byte each.
    """

    time_ns: int
    sent: bool  # whether the node where the capture was taken sent it
    number: int
    seq: int
    ack: int  # -1 without an ACK
    flags: int
    window: int  # in bytes
    payload: int
    header: int  # in bytes
    acknowledged: Ranges  # numbers of the other direction's segments that this one is the first to acknowledge
    repeats: int | None  # the number of the earlier transmission, if this segment repeats one without an ACK
    in_flight: int  # bytes of its own direction after this segment, known only to a capture at the sender
    opposite_in_flight: int  # bytes of the other direction


class _Row(NamedTuple):
    side: int  # 0: the direction of the first segment
    packet: int
    time_ns: int
    seq: int
    end: int
    ack: int
    flags: int
    window: int
    payload: int
    header: int
    blocks: Blocks = ()


@dataclass(frozen=True)
class TracedConnection:
    """Follows a TCP connection at one interface of a node. `flow` is the direction of the first segment."""

    node: str
    interface: str
    capture: Capture
    flow: Flow
    sent: bool  # whether the node sends `flow`
    passing: bool  # whether the node is neither end, or is both
    samples: tuple[Samples, ...]  # of the node's own end

    @property
    def name(self) -> str:
        """Return the connection's ends. The side that sent the first segment comes first."""
        return " > ".join(self.flow.ends)

    @property
    def has_handshake(self) -> bool:
        """Return whether the capture has the SYN of `flow`."""
        return self.capture.census.syn(self.flow) is not None

    def segments(self) -> Iterator[TracedSegment]:
        """Yield all segments of both directions, in the order of the capture."""
        connection = Connection(self.capture, self.flow)
        ways = _Way(), _Way()
        for part in connection.parts():
            for row in heapq.merge(self._rows(part.forward, 0), self._rows(part.back, 1), key=_place):
                yield ways[row.side].segment(row, ways[1 - row.side], self.sent == (row.side == 0))

    def _rows(self, segments: Segments, side: int) -> Iterator[_Row]:
        """Yield the segments of one direction. The SACK blocks are unwrapped like the ACKs."""
        syn = self.capture.census.syn(self.flow)
        longest = 20 if syn and syn.timestamps is None else _LONGEST_WITHOUT_SACK
        names = ("packet", "time_ns", "seq", "end", "ack", "flags", "window", "payload", "header_length")
        for row in zip(*(getattr(segments, name).tolist() for name in names), strict=True):
            found = _Row(side, *row)
            if found.header > longest and found.flags & (SYN | ACK) == ACK:
                found = found._replace(blocks=self._blocks(found.packet, side, found.ack))
            yield found

    def _blocks(self, packet: int, side: int, ack: int) -> Blocks:
        low = self._origins[1 - side] + ack
        return tuple(
            (ack + distance(low, left), ack + distance(low, right)) for left, right in self.capture.options(packet).sack
        )

    @cached_property
    def _origins(self) -> tuple[int, int]:
        return origins(self.capture.census, self.flow)


class _Way:
    """Keeps the state of one direction while its segments are read."""

    def __init__(self) -> None:
        self.count = 0
        self.sent = 0  # the highest number sent and acknowledged
        self.acked = 0
        self.waiting = Unacknowledged()

    def segment(self, row: _Row, other: _Way, by_node: bool) -> TracedSegment:
        """Return the next segment of this direction. Its ACK changes the state of the `other` direction."""
        acknowledged: Ranges = []
        has_ack = row.flags & ACK
        if has_ack:
            acknowledged = other.waiting.acknowledge(row.ack, row.blocks)
            other.acked = max(other.acked, row.ack)
        repeats = self.waiting.send(row.seq, row.end, self.count) if row.end > row.seq else None
        self.sent = max(self.sent, row.end)
        self.count += 1
        return TracedSegment(
            row.time_ns,
            by_node,
            self.count - 1,
            row.seq,
            row.ack if has_ack else -1,
            row.flags,
            row.window,
            row.payload,
            row.header,
            acknowledged,
            repeats,
            max(self.sent - self.acked, 0),
            max(other.sent - other.acked, 0),
        )


class Unacknowledged:
    """Holds the transmissions of one direction that no ACK has covered yet."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, int]] = {}  # first byte -> (byte after the last, number)
        self._ends: list[tuple[int, int, int]] = []  # a heap of (byte after the last, number, first byte)
        self._walked: dict[int, int] = {}  # first byte of an acknowledged range -> byte after it

    def send(self, start: int, end: int, number: int) -> int | None:
        """Add a transmission, and return the number of the earlier one that it repeats, or None.

        The earlier transmission no longer waits for an ACK.
        """
        earlier = self._open.get(start)
        self._open[start] = end, number
        heapq.heappush(self._ends, (end, number, start))
        if len(self._ends) > _MOST:
            self._drop()
        return earlier[1] if earlier else None

    def acknowledge(self, ack: int, blocks: Blocks) -> Ranges:
        """Remove the transmissions below `ack` and in the SACK blocks, and return their numbers, as ranges."""
        numbers = [number for left, right in blocks for number in self._inside(left, right)]
        while self._ends and self._ends[0][0] <= ack:
            numbers += self._drop()
        if self._walked and min(self._walked) < ack:
            self._walked = {left: right for left, right in self._walked.items() if right > ack}
        return ranges(numbers)

    def _drop(self) -> list[int]:
        """Remove the transmission with the lowest end, and return its number unless it was removed before."""
        end, number, start = heapq.heappop(self._ends)
        if self._open.get(start) != (end, number):
            return []
        del self._open[start]
        return [number]

    def _inside(self, left: int, right: int) -> Iterator[int]:
        """Yield the numbers of the consecutive transmissions from `left` to `right`."""
        at = left
        while at < right:
            if at in self._open:
                at, number = self._open.pop(at)
                yield number
            elif self._walked.get(at, at) > at:
                at = self._walked[at]
            else:
                break
        if at > left:
            self._walked[left] = at


def ranges(numbers: Sequence[int]) -> Ranges:
    """Return the numbers as ranges [first, last], in order."""
    found: Ranges = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def traced(record: Record) -> Iterator[TracedConnection]:
    """Yield the TCP connections in each capture of a record, in the order of the captures' names and first packets.

    Raises CaptureError for a damaged capture, and TcpInfoError for damaged samples.
    """
    owners = owned(record)
    for name, (node, interface) in captures(record).items():
        capture = Capture(record.path(name))
        known = samples_of(record, node)
        seen: set[Flow] = set()
        for flow in capture.census.flows:
            if flow.protocol != TCP or flow in seen:
                continue
            seen |= {flow, flow.reverse}
            own = [address in owners.get(node, ()) for address in (flow.source, flow.destination)]
            ports = (flow.source_port, flow.destination_port)[:: 1 if own[0] else -1]
            samples = tuple(each for each in known if (each.local_port, each.remote_port) == ports)
            yield TracedConnection(
                node, interface, capture, flow, own[0] or not own[1], own[0] == own[1], samples if any(own) else ()
            )


def samples_of(record: Record, node: str) -> list[Samples]:
    """Return the tcp_info samples of a node's connections; [] if no probe took samples there."""
    name = outputs.tcp_info(node)
    return read(record.path(name)) if name in record.outputs else []


def owned(record: Record) -> dict[str, set[str]]:
    """Return the addresses of each node."""
    found: dict[str, set[str]] = {}
    for link in record.network["links"]:
        for end in link["ends"]:
            found.setdefault(end["node"], set()).update(each.partition("/")[0] for each in end["addresses"])
    return found


def captures(record: Record) -> dict[str, tuple[str, str]]:
    """Return the captures of a record, sorted by name, each with its node and interface."""
    ends = [(end["node"], end["name"]) for link in record.network["links"] for end in link["ends"]]
    ends += [(node["name"], "lo") for node in record.network["nodes"]]
    places = {outputs.capture(*end): end for end in ends}
    return {name: places.get(name, (name, "")) for name in outputs.captures(sorted(record.outputs))}
