"""Read a pcap file into numpy columns, as a whole or in pieces, at millions of packets per second."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar, cast

from lab.errors import LabError
from lab.metric.arrays import Bools, Ints, np
from lab.metric.census import Census
from lab.metric.options import Options
from lab.metric.packets import Flow, Packets
from lab.metric.pcap import GLOBAL, Records

_MAGIC = {  # the file's first word, little endian: byte order of the headers, nanoseconds per fraction
    0xA1B2C3D4: ("<", 1000),
    0xA1B23C4D: ("<", 1),
    0xD4C3B2A1: (">", 1000),
    0x4D3CB2A1: (">", 1),
}
_T = TypeVar("_T")
_BLOCK = 1 << 15  # packets read at a time


class CaptureError(LabError):
    """Raised if a file is not a readable capture."""


class _Column(Generic[_T]):
    """A descriptor for a column of the whole capture, which it reads on first use.

    The property of `Packets` with the same name describes the column.
    """

    def __set_name__(self, owner: type[Capture], name: str) -> None:
        self._name = name
        self.__doc__ = getattr(Census if name == "flow" else Packets, "numbers" if name == "flow" else name).__doc__

    def __get__(self, capture: Capture, owner: type[Capture]) -> _T:
        return cast(_T, capture.columns(self._name)[0])


class Capture:
    """Holds the packets of an Ethernet pcap file in columns, in file order.

    A column has one entry per packet: 0 if the packet does not have the field, or if the snap length cut the field off.
    If the file ends within the last packet, that packet is omitted. Whole columns need memory; `blocks` needs hardly
    any.

    Raises CaptureError if the file is not an Ethernet pcap.
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
    key = _Column[Ints]()
    flow = _Column[Ints]()

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            raise CaptureError(f"{path}: {getattr(error, 'strerror', None) or 'empty'}") from error
        magic, *_, link = struct.unpack("<6I", self._bytes[:GLOBAL]) if len(self._bytes) >= GLOBAL else (0, 0)
        if magic not in _MAGIC:
            raise CaptureError(f"{path}: not a pcap file (pcapng is not supported)")
        self._order, self._fraction = _MAGIC[magic]
        (link,) = struct.unpack_from(self._order + "I", self._bytes, GLOBAL - 4)
        if link & 0xFFFF != 1:
            raise CaptureError(f"{path}: link type {link & 0xFFFF} is not Ethernet")
        self._records = Records(self._bytes, self._order)
        self._columns: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self._records)

    def blocks(self) -> Iterator[Packets]:
        """Yield all packets, in blocks that fit into the CPU's cache."""
        for positions in self._records.windows():
            for start in range(0, len(positions), _BLOCK):
                yield self._packets(positions[start : start + _BLOCK])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Provide the packets as a table for polars, pandas and pyarrow (see `lab.metric.table`)."""
        from lab.metric import table

        return table.reader(self).__arrow_c_stream__(requested_schema)

    def options(self, packet: int) -> Options:
        """Return the captured TCP options of the packet at that index."""
        return next(self.options_of([packet]))

    def options_of(self, packets: Iterable[int]) -> Iterator[Options]:
        """Yield the captured TCP options of the packets at these indices. Their headers are read many at a time."""
        positions = np.array([self._records[packet] for packet in packets], np.int64)
        for start in range(0, len(positions), _BLOCK):
            found = self._packets(positions[start : start + _BLOCK])
            yield from map(found.options, range(len(found)))

    @property
    def flows(self) -> tuple[Flow, ...]:
        """Return the distinct flows, in order of first appearance."""
        return self.census.flows

    @cached_property
    def census(self) -> Census:
        """Return the flows with their properties."""
        return Census.of(self.blocks())

    def columns(self, *names: str) -> tuple[Ints, ...]:
        """Return these columns of the whole capture.

        One pass over the capture reads all requested columns that are not yet in memory.
        """
        lacking = [name for name in names if name not in self._columns]
        if lacking:
            census = self.census if "flow" in lacking else None
            parts: dict[str, list[Ints]] = {name: [self._column(self._none, name, census)] for name in lacking}
            for packets in self.blocks():
                for name, found in parts.items():
                    found.append(self._column(packets, name, census))
            self._columns |= {name: np.concatenate(found) for name, found in parts.items()}
        return tuple(self._columns[name] for name in names)

    @staticmethod
    def _column(packets: Packets, name: str, census: Census | None) -> Ints:
        column: Ints = census.numbers(packets) if name == "flow" and census else getattr(packets, name)
        return column

    @property
    def _none(self) -> Packets:
        return self._packets(np.zeros(0, np.int64))

    def _packets(self, positions: Ints) -> Packets:
        return Packets(self._bytes, self._order, self._fraction, positions)
