"""Read the packets of a pcap or pcapng file in batches, up to the place where the file is damaged."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap

from lab.errors import InputError
from lab.ext.explain.frames import READABLE, CaptureInterface, MixedPackets
from lab.metric.arrays import Ints, np
from lab.metric.pcap import GLOBAL, RECORD, Records, gather

BATCH = 1 << 15  # packets

_PCAP = {  # the first four bytes: byte order, nanoseconds per fraction
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_SECTION, _INTERFACE, _PACKET, _SIMPLE, _STATISTICS, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 5, 6  # blocks of pcapng
_RESOLUTION, _OFFSET, _DROPPED = 9, 14, 5  # options: if_tsresol, if_tsoffset, isb_ifdrop
_LONGEST = 1 << 19  # no captured packet is longer: twice libpcap's MAXIMUM_SNAPLEN
_MOST_INTERFACES = 4096


class Reading:
    """Reads a capture's packets, as often as needed. After a complete pass, `remarks` has what the reader should know.

    Raises InputError if the bytes are no capture.
    """

    def __init__(self, data: mmap, name: str) -> None:
        self._data = data
        self.remarks: tuple[str, ...] = ()
        self.pcapng = data[:4] == b"\x0a\x0d\x0d\x0a"
        if not self.pcapng and (data[:4] not in _PCAP or len(data) < GLOBAL):
            raise InputError(f"{name}: neither pcap nor pcapng; name a capture file")
        if not self.pcapng:
            self._order, self._fraction = _PCAP[data[:4]]
            link = struct.unpack_from(self._order + "I", data, GLOBAL - 4)[0] & 0xFFFF
            if link not in READABLE:
                raise InputError(f"{name}: link type {link} is not supported; capture on an Ethernet or IP interface")
            self._interface = CaptureInterface(link)

    def batches(self) -> Iterator[MixedPackets]:
        """Yield all packets that can be read."""
        return self._pcapng() if self.pcapng else self._pcap()

    def _pcap(self) -> Iterator[MixedPackets]:
        data, order, count = self._data, self._order, 0
        end = GLOBAL
        remark = ""
        for positions in Records(data, order).windows():
            captured = gather(data, order + "u4", positions + 8).astype(np.int64)
            wrong = np.flatnonzero(captured > _LONGEST)
            if len(wrong):
                bad = int(wrong[0])
                remark = _broken(int(positions[bad]), count + bad, int(captured[bad]))
                positions, captured = positions[:bad], captured[:bad]
            for start in range(0, len(positions), BATCH):
                part = positions[start : start + BATCH]
                yield MixedPackets(data, order, self._fraction, part, (self._interface,))
            count += len(positions)
            end = int(positions[-1] + captured[-1]) + RECORD if len(positions) else end
            if remark:
                break
        if not remark and end + RECORD <= len(data):  # the walk stopped at a packet that the file cannot hold
            claimed = struct.unpack_from(self._order + "I", data, end + 8)[0]
            remark = _broken(end, count, claimed) if claimed > _LONGEST else ""
        if not remark and end < len(data):
            remark = f"the file ends within packet {count + 1:,}, which begins at byte {end:,}"
        self.remarks = (remark,) if remark else ()

    def _pcapng(self) -> Iterator[MixedPackets]:
        walk = _Blocks(self._data)
        for positions, numbers in walk:
            known = tuple(walk.interfaces)
            yield MixedPackets(self._data, walk.order, 1, positions, known, numbers)
        self.remarks = tuple(walk.remarks)


def _broken(at: int, count: int, claimed: int) -> str:
    return (
        f"the file is damaged at byte {at:,}: packet {count + 1:,} would have {claimed:,} bytes; {count:,} packets "
        "before it were read"
    )


class _Blocks:
    """Walks through the blocks of a pcapng file, and collects packets until the byte order changes or enough are there.

    Layouts: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/
    """

    def __init__(self, data: mmap) -> None:
        self._data = data
        self.order = "<"
        self.interfaces: list[CaptureInterface] = []
        self._own = 0  # index of the section's first interface
        self.remarks: list[str] = []
        self._dropped: dict[int, int] = {}
        self._untimed = self._unknown = 0

    def __iter__(self) -> Iterator[tuple[Ints, Ints]]:
        data, at, count = self._data, 0, 0
        found: list[int] = []
        numbers: list[int] = []
        head = struct.Struct("<III").unpack_from
        enhanced = struct.Struct("<IIII").unpack_from
        size_of_file = len(data)
        while at + 12 <= size_of_file:
            kind, size, word = head(data, at)
            if kind == _SECTION:
                if found:
                    yield np.array(found, np.int64), np.array(numbers, np.int64)
                    found, numbers = [], []
                order = {0x1A2B3C4D: "<", 0x4D3C2B1A: ">"}.get(word, "")
                if not order:
                    self._damaged(at, count, "a section header has no byte order")
                    break
                self.order, self._own = order, len(self.interfaces)
                head, enhanced = struct.Struct(order + "III").unpack_from, struct.Struct(order + "IIII").unpack_from
                kind, size, word = head(data, at)
            if size < 12 or size % 4 or at + size > size_of_file:
                self._damaged(at, count, f"a block would have {size:,} bytes")
                break
            if kind in (_ENHANCED, _PACKET) and size >= 32:
                captured = enhanced(data, at + 12)[2]
                number = self._own + (
                    word if kind == _ENHANCED else (word & 0xFFFF if self.order == "<" else word >> 16)
                )
                if captured > size - 32:
                    self._damaged(at, count, f"a packet would have {captured:,} bytes in a block of {size:,}")
                    break
                if number >= len(self.interfaces):
                    self._unknown += 1
                else:
                    found.append(at + 12)
                    numbers.append(number)
                    count += 1
            elif kind == _SIMPLE:
                self._untimed += 1
            elif kind == _INTERFACE and len(self.interfaces) < _MOST_INTERFACES:
                self.interfaces.append(self._interface(at, size))
            elif kind == _STATISTICS and size >= 24:
                for code, value in self._options(at + 20, at + size - 4):
                    if code == _DROPPED and len(value) == 8:
                        self._dropped[self._own + word] = struct.unpack(self.order + "Q", value)[0]
            at += size
            if len(found) >= BATCH:
                yield np.array(found, np.int64), np.array(numbers, np.int64)
                found, numbers = [], []
        else:
            if at < size_of_file:
                self._damaged(at, count, "the file ends within a block")
        if found:
            yield np.array(found, np.int64), np.array(numbers, np.int64)
        self._conclude()

    def _conclude(self) -> None:
        if self._untimed:
            self.remarks.append(f"{self._untimed:,} packets have no time, and were left out (simple packet blocks)")
        if self._unknown:
            self.remarks.append(f"{self._unknown:,} packets name an interface that the file does not describe")
        if lost := sum(self._dropped.values()):
            self.remarks.append(f"the capture itself lost {lost:,} packets, as the file reports")
        if strange := sorted({each.link for each in self.interfaces} - set(READABLE)):
            self.remarks.append(f"packets of link type {', '.join(map(str, strange))} were left out")

    def _damaged(self, at: int, count: int, why: str) -> None:
        self.remarks.append(f"the file is damaged at byte {at:,}: {why}; {count:,} packets before it were read")

    def _interface(self, at: int, size: int) -> CaptureInterface:
        link = struct.unpack_from(self.order + "H", self._data, at + 8)[0]
        per_second, offset = 1_000_000, 0
        for code, value in self._options(at + 16, at + size - 4):
            if code == _RESOLUTION and len(value) == 1:
                power = value[0] & 0x7F
                per_second = 2 ** min(power, 63) if value[0] & 0x80 else 10 ** min(power, 18)
            elif code == _OFFSET and len(value) == 8:
                offset = struct.unpack(self.order + "q", value)[0]
        return CaptureInterface(link, per_second, offset if abs(offset) < 1 << 33 else 0)

    def _options(self, at: int, end: int) -> Iterator[tuple[int, bytes]]:
        while at + 4 <= end:
            code, length = struct.unpack_from(self.order + "HH", self._data, at)
            if code == 0 or at + 4 + length > end:
                return
            yield code, self._data[at + 4 : at + 4 + length]
            at += 4 + length + -length % 4
