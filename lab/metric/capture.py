"""Captures in columns: millions of packets a second from a pcap file into numpy arrays."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar, cast

import numpy as np

from lab.errors import LabError
from lab.metric.options import Options
from lab.metric.packets import ACK, FIN, PSH, RST, SYN, TCP, UDP, Bools, Flow, Ints, Packets
from lab.metric.pcap import GLOBAL, records

__all__ = ["ACK", "FIN", "PSH", "RST", "SYN", "TCP", "UDP", "Capture", "CaptureError", "Flow"]

_MAGIC = {  # the file's first word, little endian: byte order of the headers, nanoseconds per fraction
    0xA1B2C3D4: ("<", 1000),
    0xA1B23C4D: ("<", 1),
    0xD4C3B2A1: (">", 1000),
    0x4D3CB2A1: (">", 1),
}
_T = TypeVar("_T")
_BLOCK = 1 << 15  # packets read at a time: what they need in between stays in the processor's cache
_COMMON = (
    *("time_ns", "frame", "version", "protocol", "tcp", "udp", "source_port", "destination_port", "seq", "ack"),
    *("header_length", "flags", "window", "payload", "key"),
)
_RARE = ("captured", "timestamped", "ts_value", "ts_echo", "sack")


class CaptureError(LabError):
    """The file is not a capture that can be read."""


class _Column(Generic[_T]):
    """A column of the whole capture. The property of `Packets` that has its name says what is in it, block by block."""

    def __set_name__(self, owner: type[Capture], name: str) -> None:
        self._name = name
        self.__doc__ = getattr(Packets, name).__doc__

    def __get__(self, capture: Capture, owner: type[Capture]) -> _T:
        return cast(_T, capture.column(self._name))


class Capture:
    """The packets of an Ethernet pcap file, in file order. Every column has one entry a packet, 0 where the packet
    has no such field or the snap length cut it off. A last packet that the file's end cuts short is left out.

    Raises CaptureError when the file is no Ethernet pcap.
    """

    time_ns = _Column[Ints]()
    captured = _Column[Ints]()
    frame = _Column[Ints]()
    version = _Column[Ints]()
    protocol = _Column[Ints]()
    tcp = _Column[Bools]()
    udp = _Column[Bools]()
    source_port = _Column[Ints]()
    destination_port = _Column[Ints]()
    seq = _Column[Ints]()
    ack = _Column[Ints]()
    header_length = _Column[Ints]()
    flags = _Column[Ints]()
    window = _Column[Ints]()
    payload = _Column[Ints]()
    timestamped = _Column[Bools]()
    ts_value = _Column[Ints]()
    ts_echo = _Column[Ints]()
    sack = _Column[Bools]()

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

    def options(self, packet: int) -> Options:
        """All TCP options of the packet at that index, as far as captured."""
        return self._packets(packet, packet + 1).options(0)

    @property
    def flow(self) -> Ints:
        """Index into `flows`; -1 without IP."""
        return self._flows[0]

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The distinct flows, by first appearance."""
        return self._flows[1]

    @cached_property
    def _flows(self) -> tuple[Ints, tuple[Flow, ...]]:
        number = np.zeros(len(self), np.int32)
        known: dict[int, int] = {}  # key -> index into `flows`
        flows: list[Flow] = []
        for start in self._blocks():
            part = self._common["key"][start : start + _BLOCK]
            keys, firsts, inverse = np.unique(part, return_index=True, return_inverse=True)
            for first in np.sort(firsts).tolist():
                if (key := int(part[first])) not in known:
                    flow = self._packets(start + first, start + first + 1).flow(0)
                    known[key] = len(flows) if flow else -1
                    flows += [flow] if flow else []
            number[start : start + _BLOCK] = np.array([known[key] for key in keys.tolist()], np.int32)[inverse]
        return number, tuple(flows)

    def column(self, name: str) -> Ints:
        """The column called `name`; it is read with the others of its kind, once."""
        return self._common[name] if name in _COMMON else self._rare[name]

    @cached_property
    def _common(self) -> dict[str, Ints]:
        return self._read(_COMMON)

    @cached_property
    def _rare(self) -> dict[str, Ints]:
        return self._read(_RARE)

    def _read(self, names: Sequence[str]) -> dict[str, Ints]:
        empty = self._packets(0, 0)
        columns = {name: np.empty(len(self), getattr(empty, name).dtype) for name in names}
        for start in self._blocks():
            packets = self._packets(start, start + _BLOCK)
            for name, column in columns.items():
                column[start : start + _BLOCK] = getattr(packets, name)
        return columns

    def _blocks(self) -> Iterator[int]:
        return iter(range(0, len(self), _BLOCK))

    def _packets(self, start: int, stop: int) -> Packets:
        return Packets(self._bytes, self._order, self._fraction, self._records[start:stop])
