"""Write small captures, packet by packet."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.ext.explain.explaining import Explanation, explain, look_closely
from lab.ext.explain.measuring import SeenPath, measure
from lab.ext.explain.planning import RebuildPlan, plan

MSS = 1448
START = 1_700_000_000 * 10**9
MS = 1_000_000
SYN, PSH, ACK, FIN = 0x02, 0x08, 0x10, 0x01
ISN = 0xFFFFF000  # so that sequence numbers wrap


@dataclass(frozen=True)
class Packet:
    """One packet between a client (10.0.0.1) and a server (10.0.0.2:80). Numbers count from the ISN."""

    ms: float
    back: bool = False  # from the server
    seq: int = 1
    ack: int = 1
    size: int = 0
    flags: int = ACK
    window: int = 65535
    stamps: tuple[int, int] | None = None
    options: bytes = b""
    head: bytes = b""  # the first bytes of the payload
    port: int = 40000  # of the client

    @property
    def frame(self) -> bytes:
        """The Ethernet frame."""
        options = self.options
        if self.stamps:
            options += struct.pack(">BBBBII", 1, 1, 8, 10, *self.stamps)
        client, server = (b"\x0a\0\0\x01", self.port), (b"\x0a\0\0\x02", 80)
        source, target = (server, client) if self.back else (client, server)
        if self.back:
            seq, ack = ack_of(self.seq), seq_of(self.ack)
        else:
            seq, ack = seq_of(self.seq), ack_of(self.ack)
        tcp = struct.pack(">HHIIBBHHH", source[1], target[1], seq, ack if self.flags & ACK else 0,
                          (20 + len(options)) // 4 << 4, self.flags, self.window, 0, 0)  # fmt: skip
        body = tcp + options + self.head.ljust(self.size, b"x")
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 6, 0) + source[0] + target[0]
        return bytes(12) + b"\x08\0" + ip + body

    @property
    def ns(self) -> int:
        """The time of capture."""
        return START + round(self.ms * MS)


def seq_of(number: int) -> int:
    """Return a client's sequence number as sent."""
    return (ISN + number) % 2**32


def ack_of(number: int) -> int:
    """Return a server's sequence number as sent."""
    return (1000 + number) % 2**32


def pcap(packets: Iterable[Packet], snap: int = 65535, order: str = "<", nano: bool = True) -> bytes:
    """Return a pcap file."""
    magic, unit = (0xA1B23C4D, 1) if nano else (0xA1B2C3D4, 1000)
    parts = [struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, snap, 1)]
    for each in packets:
        frame = each.frame
        head = each.ns // 10**9, each.ns % 10**9 // unit, min(len(frame), snap), len(frame)
        parts += [struct.pack(order + "IIII", *head), frame[:snap]]
    return b"".join(parts)


def written(folder: Path, packets: Iterable[Packet]) -> Path:
    """Write a capture of these packets, in the order of their times, into a folder."""
    file = folder / "capture.pcap"
    file.write_bytes(pcap(sorted(packets, key=lambda each: each.ms)))
    return file


def explained(folder: Path, packets: Iterable[Packet]) -> Explanation:
    """Explain the only connection of a capture of these packets."""
    [found] = explain(written(folder, packets)).connections
    return found


def measured(folder: Path, packets: Iterable[Packet]) -> SeenPath:
    """Return what `lab explain --rebuild` finds in these packets."""
    return measure(look_closely(written(folder, packets)))


def planned(folder: Path, packets: Iterable[Packet]) -> RebuildPlan:
    """Return the experiment that `lab explain --rebuild` makes of these packets."""
    return plan(look_closely(written(folder, packets)))


def pcapng(packets: Iterable[Packet], order: str = "<", lost: int = 0) -> bytes:
    """Return a pcapng file whose packets alternate between two interfaces, with nano- and microseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + size + body + size

    parts = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts.append(block(1, struct.pack(order + "HHI", 1, 0, 0) + struct.pack(order + "HHBxxxHH", 9, 1, 9, 0, 0)))
    parts.append(block(1, struct.pack(order + "HHI", 101, 0, 0)))  # raw IP, microseconds
    for index, each in enumerate(packets):
        which = index % 2
        ticks, frame = (each.ns // 1000, each.frame[14:]) if which else (each.ns, each.frame)
        head = struct.pack(order + "IIIII", which, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
        parts.append(block(6, head + frame))
    if lost:
        parts.append(block(5, struct.pack(order + "III", 0, 0, 0) + struct.pack(order + "HHQHH", 5, 8, lost, 0, 0)))
    return b"".join(parts)


def handshake(rtt: float, scale: int = 0, at: str = "sender") -> list[Packet]:
    """Return the opening of a connection whose client sends the data."""
    options = struct.pack(">BBHBBBBBB", 2, 4, 1460, 1, 3, 3, scale, 4, 2) + b"\1"
    options = options.ljust(12, b"\1")
    answer, done = (rtt, rtt) if at == "sender" else (0.0, rtt)
    return [
        Packet(0, seq=0, ack=0, flags=SYN, options=options),
        Packet(answer, back=True, seq=0, ack=1, flags=SYN | ACK, options=options),
        Packet(done, seq=1, ack=1),
    ]


def windows(rtt: float, sizes: Sequence[int], window: int = 65535) -> list[Packet]:
    """Return a transfer that sends so many full segments in each round trip, each flight on the ACK of the last."""
    packets, end = handshake(rtt), 1
    for turn, count in enumerate(sizes, 1):
        first = end
        for number in range(count):
            packets.append(Packet(turn * rtt + 0.001 * number, seq=first + number * MSS, size=MSS))
        end = first + count * MSS
        packets.append(Packet((turn + 1) * rtt, back=True, ack=end, window=window))
    return packets
