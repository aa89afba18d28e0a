"""Read packets into columns.

The first use of a column reads the column with one index operation on a view of the file's bytes. Sizes come from the
headers, so they are correct at any snap length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from mmap import mmap
from typing import NamedTuple

from lab.metric.arrays import Bools, DType, Ints, np
from lab.metric.options import Options
from lab.metric.pcap import RECORD, gather

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TCP, UDP = 6, 17

_START = 96  # bytes of a record: its header, Ethernet's, IPv4's, TCP's and a timestamp
_MACS = 12  # bytes before the EtherType
_IPV4, _IPV6, _VLAN = 0x0800, 0x86DD, (0x8100, 0x88A8)
_EXTENSIONS, _FRAGMENT = (0, 43, 60), 44  # IPv6 hop-by-hop, routing, destination options; and the fragment header

# Contiguous headers are gathered whole, so that the file passes through the cache once for all their fields.
_HEAD = {order: [(name, order + "u4") for name in ("seconds", "fraction", "captured", "frame")] for order in "<>"}
_SEGMENT = [
    *(("source_port", ">u2"), ("destination_port", ">u2"), ("seq", ">u4"), ("ack", ">u4")),
    *(("offset", "u1"), ("flags", "u1"), ("window", ">u2")),
]
_NETWORK: DType = {  # the fields that are used, of both versions of IP
    "names": ["size", "total", "payload", "fragment", "next", "protocol"],
    "formats": ["u1", ">u2", ">u2", ">u2", "u1", "u1"],
    "offsets": [0, 2, 4, 6, 6, 9],
}
_STAMPS = [("layout", ">u4"), ("value", ">u4"), ("echo", ">u4")]

_DEPTH = 8  # no packet stacks more tags or extension headers than this


@dataclass(frozen=True, slots=True)
class Flow:
    """Identifies one direction of a connection. Ports are 0 for flows without ports."""

    source: str
    source_port: int
    destination: str
    destination_port: int
    protocol: int

    @property
    def reverse(self) -> Flow:
        """Return the other direction."""
        return Flow(self.destination, self.destination_port, self.source, self.source_port, self.protocol)

    @property
    def ends(self) -> tuple[str, str]:
        """Return the source and the destination, each as 'address:port'. An IPv6 address has brackets (RFC 3986)."""
        ends = (self.source, self.source_port), (self.destination, self.destination_port)
        first, second = (f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for address, port in ends)
        return first, second


class _Layers(NamedTuple):
    version: Ints  # of IP; 0 without IP
    protocol: Ints  # above IP, past extension headers; -1 without IP
    network: Ints  # position of the IP header
    transport: Ints  # position of the transport header
    length: Ints  # bytes from there to the end of the IP packet
    first: Bools  # whether the packet has the transport header, so is not a later fragment


class Packets:
    """Gives columns of the packets whose records start at `records` in a pcap file's bytes.

    The file's headers have the byte order `order`, and the second word of their times counts units of `fraction`
    nanoseconds. A column has one entry per packet: 0 if the packet does not have the field, or if the snap length cut
    the field off.
    """

    def __init__(self, data: mmap, order: str, fraction: int, records: Ints) -> None:
        self._bytes, self._order, self._fraction, self._records = data, order, fraction, records

    def __len__(self) -> int:
        return len(self._records)

    @cached_property
    def time_ns(self) -> Ints:
        """Return the capture time in nanoseconds since the epoch."""
        seconds, fraction = (self._head[name].astype(np.int64) for name in ("seconds", "fraction"))
        return seconds * 10**9 + fraction * self._fraction

    @cached_property
    def captured(self) -> Ints:
        """Return the number of the packet's bytes in the file."""
        return _native(self._head["captured"])

    @cached_property
    def frame(self) -> Ints:
        """Return the packet's number of bytes on the interface, with the Ethernet header and without the FCS."""
        return _native(self._head["frame"])

    @cached_property
    def version(self) -> Ints:
        """Return the IP version: 4 or 6."""
        return self._layers.version

    @cached_property
    def protocol(self) -> Ints:
        """Return the number of the protocol above IP, after any IPv6 extension headers; -1 without IP."""
        return self._layers.protocol

    @cached_property
    def tcp(self) -> Bools:
        """Return whether the packet has a complete TCP header in the capture."""
        return self._has(TCP, 20)

    @cached_property
    def udp(self) -> Bools:
        """Return whether the packet has a complete UDP header in the capture."""
        return self._has(UDP, 8)

    @cached_property
    def source_port(self) -> Ints:
        """Return the source port of TCP or UDP."""
        return self._field("source_port", self.tcp | self.udp)

    @cached_property
    def destination_port(self) -> Ints:
        """Return the destination port of TCP or UDP."""
        return self._field("destination_port", self.tcp | self.udp)

    @cached_property
    def seq(self) -> Ints:
        """Return the TCP sequence number as sent, 32 bits."""
        return self._field("seq", self.tcp)

    @cached_property
    def ack(self) -> Ints:
        """Return the TCP acknowledgement number as sent, 32 bits."""
        return self._field("ack", self.tcp)

    @cached_property
    def header_length(self) -> Ints:
        """Return the length of the TCP header in bytes, including options."""
        return self._field("offset", self.tcp) // 16 * 4

    @cached_property
    def flags(self) -> Ints:
        """Return the TCP flags: FIN, SYN, RST, PSH, ACK and higher bits."""
        return self._field("flags", self.tcp)

    @cached_property
    def window(self) -> Ints:
        """Return the TCP window as sent, unscaled."""
        return self._field("window", self.tcp)

    @cached_property
    def payload(self) -> Ints:
        """Return the payload length of TCP or UDP in bytes, computed from the IP length."""
        header = np.where(self.tcp, self.header_length, 8).astype(np.int32)
        return np.where(self.tcp | self.udp, np.maximum(self._layers.length - header, 0), 0)

    @cached_property
    def payload_start(self) -> Ints:
        """Return the first 16 captured bytes of a UDP payload, hashed to 64 bits."""
        start = self._layers.transport + 8
        held = np.clip(np.minimum(self._ends - start, self.payload), 0, 16) * self.udp
        key = np.zeros(len(self), np.uint64)
        for at in (0, 8):
            missing = (8 - np.clip(held - at, 0, 8)).astype(np.uint64)  # bytes of the next word that are not payload
            word = self._gather(">u8", start + at).astype(np.uint64)
            key = _mixed(key, np.where(missing < 8, word >> np.uint64(8) * (missing % np.uint64(8)), 0))
        return _where(self.udp, key)

    @cached_property
    def timestamped(self) -> Bools:
        """Return whether the packet has a TCP timestamp option in the layout of RFC 7323, appendix A: NOP NOP TS."""
        found: Bools = self._stamps["layout"] == 0x0101080A
        return self._holds(32) & found

    @cached_property
    def ts_value(self) -> Ints:
        """Return TSval of the TCP timestamp option."""
        return _where(self.timestamped, self._stamps["value"])

    @cached_property
    def ts_echo(self) -> Ints:
        """Return TSecr of the TCP timestamp option."""
        return _where(self.timestamped, self._stamps["echo"])

    @cached_property
    def sack(self) -> Bools:
        """Return whether the packet has SACK blocks in Linux's layout: NOP NOP SACK, first or after the timestamps."""
        offset = np.where(self.timestamped, 32, 20)
        start = self._gather(">u4", self._layers.transport + offset) >> 8
        found: Bools = start == 0x010105
        return self._holds(offset + 4) & found

    def options(self, packet: int) -> Options:
        """Return all captured TCP options of the packet at that index."""
        start = int(self._layers.transport[packet])
        end = min(start + int(self.header_length[packet]), int(self._ends[packet]))
        return Options.parse(self._bytes[start + 20 : end])

    @cached_property
    def key(self) -> Ints:
        """Return a number for the packet's flow: IP version, protocol, addresses and ports, hashed to 64 bits."""
        version, network = self.version, self._layers.network
        ports = self.source_port.astype(np.uint64) << np.uint64(16) | self.destination_port
        key = _mixed(version.astype(np.uint64) << np.uint64(8) | (self.protocol & 0xFF).astype(np.uint64), ports)
        key = _mixed(key, np.where(version == 4, self._gather(">u8", network + 12), 0))
        six = version == 6
        for at in (8, 16, 24, 32) if six.any() else ():
            key[six] = _mixed(key[six], self._gather(">u8", network + at)[six])
        return key

    def flow(self, packet: int) -> Flow | None:
        """Return the flow of the packet at that index; None without IP."""
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

    def _network(self) -> tuple[Ints, Ints]:
        """Return each packet's EtherType, past VLAN tags, and the position of its network header."""
        at = self._records + RECORD + _MACS
        return self._past_tags(self._gather(">u2", at), at + 2)

    def _past_tags(self, kind: Ints, network: Ints) -> tuple[Ints, Ints]:
        """Return the EtherType and the position after VLAN tags, for headers that begin with tags of type `kind`."""
        for _ in range(_DEPTH):
            tagged = np.isin(kind, _VLAN)
            if not tagged.any():
                break
            kind = np.where(tagged, self._gather(">u2", network + 2), kind)
            network = network + 4 * tagged
        return kind, network

    @cached_property
    def _layers(self) -> _Layers:
        kind, network = self._network()
        four = (kind == _IPV4) & (network + 20 <= self._ends)
        six = (kind == _IPV6) & (network + 40 <= self._ends)
        whole = self._records + RECORD + self.frame - network  # for packets too long for IP's length field

        header = self._gather(_NETWORK, network)
        size = np.where(four, header["size"] % 16 * 4, 40)
        total = np.where(four, header["total"], header["payload"]).astype(np.int64)
        length = np.where(total == 0, whole - size, total - size * four)
        protocol = np.where(four, header["protocol"], header["next"]).astype(np.int16)
        protocol[~(four | six)] = -1
        first = ~four | (header["fragment"] % 0x2000 == 0)
        transport = network + size
        for _ in range(_DEPTH if six.any() else 0):
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
        """Return whether the TCP header has `size` bytes, all captured."""
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

    def _gather(self, kind: DType, at: Ints) -> Ints:
        """Return values of numpy type `kind` at these positions. Equal offsets are read from the copied record
        starts.
        """
        wire = np.dtype(kind)
        offset = int(at[0] - self._records[0]) if len(at) else 0
        if offset + wire.itemsize <= _START and (at - self._records == offset).all():
            found: Ints = self._starts[:, offset : offset + wire.itemsize].view(wire)[:, 0]
            return found
        return gather(self._bytes, wire, at)

    @cached_property
    def _starts(self) -> Ints:
        """Copy the first `_START` bytes of every record side by side, in one pass over the file for all common
        fields.
        """
        whole = int(np.searchsorted(self._records, len(self._bytes) - _START, "right"))
        starts = gather(self._bytes, f"V{_START}", self._records[:whole]).view(np.uint8).reshape(-1, _START)
        if whole == len(self):
            return starts
        rest = [self._bytes[at : at + _START].ljust(_START, b"\0") for at in self._records[whole:].tolist()]
        return np.concatenate((starts, np.frombuffer(b"".join(rest), np.uint8).reshape(-1, _START)))


def _native(column: Ints) -> Ints:
    """Return the column in this machine's byte order, as one contiguous array."""
    return column.astype(column.dtype.newbyteorder("="))


def _where(condition: Bools, column: Ints) -> Ints:
    """Return the column, with 0 where the condition does not hold."""
    return _native(column) * condition


def _mixed(key: Ints, word: Ints) -> Ints:
    """Mix `word` into `key` with Fibonacci hashing.

    With 64 bits, the few flows of a file are extremely unlikely to collide.
    """
    key = (key ^ word.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    mixed: Ints = key ^ key >> np.uint64(32)
    return mixed
