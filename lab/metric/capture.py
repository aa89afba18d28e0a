"""Captures in columns: millions of packets a second from a pcap file into numpy arrays.

A `Capture` maps the file and finds its records; a column is gathered when it is first asked for, by one indexing of
an overlapping view of the bytes. Sizes come from the headers, so they hold at any snap length.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.errors import LabError
from lab.metric.options import Options
from lab.metric.pcap import GLOBAL, RECORD, gather, records

__all__ = ["ACK", "FIN", "PSH", "RST", "SYN", "TCP", "UDP", "Capture", "CaptureError", "Flow"]

Ints: TypeAlias = npt.NDArray[Any]  # of any integer type: columns are as wide as the field, positions 64 bits
Bools: TypeAlias = npt.NDArray[np.bool_]

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TCP, UDP = 6, 17

_MAGIC = {  # the file's first word, little endian: byte order of the headers, nanoseconds per fraction
    0xA1B2C3D4: ("<", 1000),
    0xA1B23C4D: ("<", 1),
    0xD4C3B2A1: (">", 1000),
    0x4D3CB2A1: (">", 1),
}
_START = 96  # of a record: its header, Ethernet's, IPv4's, TCP's and a time stamp
_MACS = 12  # bytes before the EtherType
_IPV4, _IPV6, _VLAN = 0x0800, 0x86DD, (0x8100, 0x88A8)
_EXTENSIONS, _FRAGMENT = (0, 43, 60), 44  # IPv6 hop-by-hop, routing, destination options; and the fragment header

# Headers that lie in one piece are gathered whole, so that the file passes through the cache once for all their fields.
_HEAD = {
    order: np.dtype([(name, order + "u4") for name in ("seconds", "fraction", "captured", "frame")]) for order in "<>"
}
_SEGMENT = np.dtype(
    [
        *(("source_port", ">u2"), ("destination_port", ">u2"), ("seq", ">u4"), ("ack", ">u4")),
        *(("offset", "u1"), ("flags", "u1"), ("window", ">u2")),
    ]
)
_NETWORK = np.dtype(  # what decides, of either version of IP
    {
        "names": ["size", "total", "payload", "fragment", "next", "protocol"],
        "formats": ["u1", ">u2", ">u2", ">u2", "u1", "u1"],
        "offsets": [0, 2, 4, 6, 6, 9],
    }
)
_STAMPS = np.dtype([("layout", ">u4"), ("value", ">u4"), ("echo", ">u4")])

_DEPTH = 8  # no packet stacks more tags or extension headers than this


class CaptureError(LabError):
    """The file is not a capture that can be read."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One direction of a connection: what its packets have in common. Ports are 0 where there are none."""

    source: str
    source_port: int
    destination: str
    destination_port: int
    protocol: int

    @property
    def reverse(self) -> Flow:
        """The other direction."""
        return Flow(self.destination, self.destination_port, self.source, self.source_port, self.protocol)


class _Layers(NamedTuple):
    version: Ints  # of IP; 0 where there is none
    protocol: Ints  # above IP, past extension headers; -1 where there is none
    network: Ints  # position of the IP header
    transport: Ints  # position of what it carries
    length: Ints  # bytes from there to the end of the IP packet
    first: Bools  # whether the transport header is here: not in a later fragment


class Capture:
    """The packets of an Ethernet pcap file, in file order. Every column has one entry a packet, 0 where the packet
    has no such field or the snap length cut it off. A last packet that the file's end cuts short is left out.

    Raises CaptureError when the file is no Ethernet pcap.
    """

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            raise CaptureError(f"{path}: {getattr(error, 'strerror', None) or 'empty'}") from error
        magic, *_, link = struct.unpack("<6I", self._bytes[:GLOBAL]) if len(self._bytes) >= GLOBAL else (0, 0)
        if magic not in _MAGIC:
            raise CaptureError(f"{path}: not a pcap file (pcapng is not read)")
        self._order, self._fraction = _MAGIC[magic]
        (link,) = struct.unpack_from(self._order + "I", self._bytes, GLOBAL - 4)
        if link & 0xFFFF != 1:
            raise CaptureError(f"{path}: link type {link & 0xFFFF} is not Ethernet")
        self._records = records(self._bytes, self._order)

    def __len__(self) -> int:
        return len(self._records)

    @cached_property
    def time_ns(self) -> Ints:
        """Time of capture, nanoseconds since the epoch."""
        seconds, fraction = (self._head[name].astype(np.int64) for name in ("seconds", "fraction"))
        return seconds * 10**9 + fraction * self._fraction

    @cached_property
    def captured(self) -> Ints:
        """Bytes of the packet in the file."""
        return _native(self._head["captured"])

    @cached_property
    def frame(self) -> Ints:
        """Bytes of the packet on the interface: Ethernet header included, FCS not."""
        return _native(self._head["frame"])

    @property
    def version(self) -> Ints:
        """4 or 6."""
        return self._layers.version

    @property
    def protocol(self) -> Ints:
        """What IP carries, past IPv6's extension headers; -1 without IP."""
        return self._layers.protocol

    @cached_property
    def tcp(self) -> Bools:
        """Whether the packet has a TCP header, whole in the capture."""
        return self._has(TCP, 20)

    @cached_property
    def udp(self) -> Bools:
        """Whether the packet has a UDP header, whole in the capture."""
        return self._has(UDP, 8)

    @cached_property
    def source_port(self) -> Ints:
        """Of TCP or UDP."""
        return self._field("source_port", self.tcp | self.udp)

    @cached_property
    def destination_port(self) -> Ints:
        """Of TCP or UDP."""
        return self._field("destination_port", self.tcp | self.udp)

    @cached_property
    def seq(self) -> Ints:
        """TCP's sequence number as sent, 32 bits."""
        return self._field("seq", self.tcp)

    @cached_property
    def ack(self) -> Ints:
        """TCP's acknowledgement number as sent, 32 bits."""
        return self._field("ack", self.tcp)

    @cached_property
    def header_length(self) -> Ints:
        """Bytes of the TCP header, options included."""
        return self._field("offset", self.tcp) // 16 * 4

    @cached_property
    def flags(self) -> Ints:
        """TCP's flags: FIN, SYN, RST, PSH, ACK and up."""
        return self._field("flags", self.tcp)

    @cached_property
    def window(self) -> Ints:
        """TCP's window as sent, unscaled."""
        return self._field("window", self.tcp)

    @cached_property
    def payload(self) -> Ints:
        """Bytes above the TCP or UDP header, by the IP length."""
        header = np.where(self.tcp, self.header_length, 8).astype(np.int32)
        return np.where(self.tcp | self.udp, np.maximum(self._layers.length - header, 0), 0)

    @cached_property
    def timestamped(self) -> Bools:
        """Whether the TCP timestamp option is there, laid out as RFC 7323 appendix A recommends: NOP NOP TS."""
        found: Bools = self._stamps["layout"] == 0x0101080A
        return self._holds(32) & found

    @cached_property
    def ts_value(self) -> Ints:
        """TSval of the TCP timestamp option."""
        return _where(self.timestamped, self._stamps["value"])

    @cached_property
    def ts_echo(self) -> Ints:
        """TSecr of the TCP timestamp option."""
        return _where(self.timestamped, self._stamps["echo"])

    @cached_property
    def sack(self) -> Bools:
        """Whether there are SACK blocks, laid out NOP NOP SACK, first or after the timestamps, as Linux does."""
        offset = np.where(self.timestamped, 32, 20)
        start = self._gather(">u4", self._layers.transport + offset) >> 8
        found: Bools = start == 0x010105
        return self._holds(offset + 4) & found

    def options(self, packet: int) -> Options:
        """All TCP options of the packet at that index, as far as captured."""
        start = int(self._layers.transport[packet])
        end = min(start + int(self.header_length[packet]), int(self._ends[packet]))
        return Options.parse(self._bytes[start + 20 : end])

    @cached_property
    def flow(self) -> Ints:
        """Index into `flows`; -1 without IP."""
        return self._flows[0]

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The distinct flows, by first appearance."""
        return self._flows[1]

    @cached_property
    def _flows(self) -> tuple[Ints, tuple[Flow, ...]]:
        version, network = self.version, self._layers.network
        words = [version.astype(np.uint64), (self.protocol & 0xFF).astype(np.uint64)]
        words.append(self.source_port.astype(np.uint64) << np.uint64(16) | self.destination_port)
        words.append(np.where(version == 4, self._gather(">u8", network + 12), 0))
        if (version == 6).any():
            words += [np.where(version == 6, self._gather(">u8", network + at), 0) for at in (8, 16, 24, 32)]
        number, firsts = _number(words)
        seen = [(first, self._flow_of(int(first))) for first in firsts]
        known = {first: flow for first, flow in seen if flow}
        order = {first: index for index, first in enumerate(known)}
        renumber = np.array([order.get(first, -1) for first, _ in seen], np.int32)
        return renumber[number] if len(self) else number, tuple(known.values())

    def _flow_of(self, packet: int) -> Flow | None:
        version, start = int(self.version[packet]), int(self._layers.network[packet])
        if not version:
            return None
        at, width = (start + 12, 4) if version == 4 else (start + 8, 16)
        source, destination = (str(ip_address(self._bytes[i : i + width])) for i in (at, at + width))
        ports = int(self.source_port[packet]), int(self.destination_port[packet])
        return Flow(source, ports[0], destination, ports[1], int(self.protocol[packet]))

    @cached_property
    def _ends(self) -> Ints:
        return self._records + RECORD + self.captured

    @cached_property
    def _layers(self) -> _Layers:
        at = self._records + RECORD + _MACS
        kind = self._gather(">u2", at)
        for _ in range(_DEPTH):
            tagged = np.isin(kind, _VLAN)
            if not tagged.any():
                break
            at = at + 4 * tagged
            kind = np.where(tagged, self._gather(">u2", at), kind)
        network = at + 2
        four = (kind == _IPV4) & (network + 20 <= self._ends)
        six = (kind == _IPV6) & (network + 40 <= self._ends)
        whole = self._records + RECORD + self.frame - network  # of packets too long for IP's own length field

        header = self._gather(_NETWORK, network)
        size = np.where(four, header["size"] % 16 * 4, 40)
        total = np.where(four, header["total"], header["payload"]).astype(np.int64)
        length = np.where(total == 0, whole - size, total - size * four)
        protocol = np.where(four, header["protocol"], header["next"]).astype(np.int16)
        protocol[~(four | six)] = -1
        first = ~four | (header["fragment"] % 0x2000 == 0)
        transport = network + size
        for _ in range(_DEPTH * bool(six.any())):
            long = six & np.isin(protocol, _EXTENSIONS)
            fragment = six & (protocol == _FRAGMENT) & first
            if not (long | fragment).any():
                break
            step = np.where(long, (self._gather("u1", transport + 1).astype(np.int64) + 1) * 8, 8 * fragment)
            first &= ~fragment | (self._gather(">u2", transport + 2) < 8)
            protocol = np.where(long | fragment, self._gather("u1", transport), protocol)
            transport, length = transport + step, length - step
        version = np.where(four, 4, np.where(six, 6, 0)).astype(np.uint8)
        return _Layers(version, protocol, network, transport, length, first)

    def _has(self, protocol: int, header: int) -> Bools:
        layers = self._layers
        found: Bools = (layers.protocol == protocol) & layers.first & (layers.transport + header <= self._ends)
        return found

    def _holds(self, size: int | Ints) -> Bools:
        """Whether the TCP header has `size` bytes, all captured."""
        held: Bools = (self.header_length >= size) & (self._layers.transport + size <= self._ends)
        return self.tcp & held

    def _field(self, name: str, where: Bools) -> Ints:
        return _where(where, self._segment[name])

    @cached_property
    def _head(self) -> Ints:
        return self._gather(_HEAD[self._order], self._records)

    @cached_property
    def _segment(self) -> Ints:
        return self._gather(_SEGMENT, self._layers.transport)

    @cached_property
    def _stamps(self) -> Ints:
        return self._gather(_STAMPS, self._layers.transport + 20)

    def _gather(self, kind: npt.DTypeLike, at: Ints) -> Ints:
        """What numpy type `kind` reads at these positions; from the records' copied starts where all agree on it."""
        wire = np.dtype(kind)
        offset = int(at[0] - self._records[0]) if len(at) else 0
        if offset + wire.itemsize <= _START and (at - self._records == offset).all():
            found: Ints = self._starts[:, offset : offset + wire.itemsize].view(wire)[:, 0]
            return found
        return gather(self._bytes, wire, at)

    @cached_property
    def _starts(self) -> Ints:
        """The first `_START` bytes of every record, side by side: one pass over the file for all common fields."""
        whole = int(np.searchsorted(self._records, len(self._bytes) - _START, "right"))
        starts = gather(self._bytes, f"V{_START}", self._records[:whole]).view(np.uint8).reshape(-1, _START)
        if whole == len(self):
            return starts
        rest = [self._bytes[at : at + _START].ljust(_START, b"\0") for at in self._records[whole:].tolist()]
        return np.concatenate((starts, np.frombuffer(b"".join(rest), np.uint8).reshape(-1, _START)))


def _native(column: Ints) -> Ints:
    """In this machine's byte order, and in one piece."""
    return column.astype(column.dtype.newbyteorder("="))


def _where(condition: Bools, column: Ints) -> Ints:
    """The column, and 0 where the condition does not hold."""
    return _native(column) * condition


def _number(words: list[Ints]) -> tuple[Ints, Ints]:
    """Numbers the distinct rows of these columns: the number of each row, and the first row of each number."""
    key = np.zeros(len(words[0]), np.uint64)
    for word in words:  # Fibonacci hashing: 64 bits leave a collision among a file's few flows out of the question
        key = (key ^ word.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[number], first[order]
