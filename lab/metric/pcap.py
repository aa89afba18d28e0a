"""Find the records of a pcap file, many at a time."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from mmap import MADV_DONTNEED, PAGESIZE, mmap

from lab.metric.arrays import DType, Ints, np

GLOBAL, RECORD = 24, 16  # bytes of the file's header and of a record's
_LONGEST = 2**18  # no packet is longer, captured or not (libpcap's MAXIMUM_SNAPLEN)
_DAYS = 2**20  # seconds: guesses assume that a capture lasts at most this long
_REACH = 256  # bytes searched for each guess: longer records are few, and fewer guesses will do
_WALKS = 2048  # walks side by side: with fewer, numpy is slower than a single walk
_SMALL = 1 << 23  # bytes: a single walk through less is faster than the guesses are (4 ms in place of 18 for 2 MiB)
_WINDOW = 1 << 26  # bytes of the file whose records are found at a time
_KEPT = 8  # windows


def gather(data: mmap, kind: DType, at: Ints) -> Ints:
    """Return values of numpy type `kind` at these positions, aligned or not. Values past the end are arbitrary."""
    wire = np.dtype(kind)
    view: Ints = np.ndarray((max(len(data) - wire.itemsize + 1, 0),), wire, data, strides=(1,))
    if len(view) == 0:
        return np.zeros(len(at), wire)
    if len(at) and at.max() >= len(view):
        at = np.minimum(at, len(view) - 1)
    return view[at]


class Records:
    """Holds the positions of the record headers in a file of byte order `order` ("<" or ">").

    The class finds the positions window by window, and caches them only for the first few windows, so that memory usage
    does not grow with the file.
    """

    def __init__(self, data: mmap, order: str) -> None:
        self._data, self._order = data, order
        self._starts, self._firsts = [GLOBAL], [0]  # the first byte and packet of each known window and the next
        self._kept: dict[int, Ints] = {}
        self._last = -1, np.zeros(0, np.int64)  # the last used window, if it is not kept

    def __len__(self) -> int:
        while self._starts[-1] <= len(self._data) - RECORD:
            self._window(len(self._starts) - 1)
        return self._firsts[-1]

    def __getitem__(self, packet: int) -> int:
        """Return the position of one record. Raises IndexError past the last record."""
        if not 0 <= packet < (self._firsts[-1] if packet < self._firsts[-1] else len(self)):
            raise IndexError(packet)
        number = bisect_right(self._firsts, packet) - 1
        return int(self._window(number)[packet - self._firsts[number]])

    def windows(self) -> Iterator[Ints]:
        """Yield the positions, many at a time, and release the file's pages after reading them."""
        number = 0
        while self._starts[number] <= len(self._data) - RECORD:
            yield self._window(number)
            number += 1
            if number < len(self._starts) and self._starts[number] <= len(self._data) - RECORD:
                self._let_go(self._starts[number - 1], self._starts[number])

    def _window(self, number: int) -> Ints:
        if number in self._kept:
            return self._kept[number]
        if self._last[0] != number:
            found, end = _positions(self._data, self._order, self._starts[number])
            if number == len(self._starts) - 1:
                self._starts.append(end)
                self._firsts.append(self._firsts[-1] + len(found))
            self._last = number, found
            if number < _KEPT:
                self._kept[number] = found
        return self._last[1]

    def _let_go(self, start: int, end: int) -> None:
        first = start // PAGESIZE * PAGESIZE
        self._data.madvise(MADV_DONTNEED, first, end - first)


def _positions(data: mmap, order: str, start: int) -> tuple[Ints, int]:
    """Return the positions of the records in the window that begins at `start`, and the start of the next window.

    Each header gives the position of the next header. Many walks run side by side, so that numpy can follow the
    headers. Each walk starts at a guessed record, and ends at the first header at or after the next walk's guess. The
    first guess is the first record. If every walk ends exactly at the next guess, all guesses were right. Otherwise, or
    if the window is too short for guesses, a single walk covers the window.
    """

    def field(at: Ints, offset: int) -> Ints:
        return gather(data, order + "u4", at + offset).astype(np.int64)

    limit = min(start + _WINDOW, len(data) - RECORD + 1)
    starts = _guesses(start, limit, field)
    if len(starts) == 1:
        return _walk(data, order, start, limit)
    ends = np.append(starts[1:], limit)
    at, steps = starts, []
    while (on := at < ends).any():
        steps.append(np.where(on, at, 0))
        at = np.where(on, at + RECORD + field(at, 8), at)
    if (at[:-1] != starts[1:]).any():
        return _walk(data, order, start, limit)
    found: Ints = np.array(steps, np.int64).T.ravel()
    found, end = found[found > 0], int(at[-1])
    return found[:-1] if end > len(data) else found, end  # the file may end within the last packet


def _guesses(start: int, limit: int, field: Callable[[Ints, int], Ints]) -> Ints:
    """Return the first record's position, then positions at which two records in a row look like records."""
    first = np.array([start], np.int64)
    if limit - start < max(_SMALL, _WALKS * _REACH):
        return first
    epoch = int(field(first, 0)[0])

    def plausible(at: Ints) -> Ints:
        captured, length = field(at, 8), field(at, 12)
        near = (abs(field(at, 0) - epoch) < _DAYS) & (field(at, 4) < 10**9)
        return near & (captured > 0) & (captured <= length) & (length < _LONGEST)

    sought, found = np.linspace(start, limit - 2 * _REACH, _WALKS, dtype=np.int64)[1:], [first]
    for _ in range(_REACH):
        right = plausible(sought)
        right[right] = plausible(sought[right] + RECORD + field(sought[right], 8))
        found.append(sought[right])
        sought = sought[~right] + 1
        if not len(sought):
            break
    starts = np.sort(np.concatenate(found))
    return starts[np.diff(starts, prepend=-1) > 0]  # np.unique would import numpy.ma, and take twice as long


def _walk(data: mmap, order: str, start: int, limit: int) -> tuple[Ints, int]:
    captured = struct.Struct(order + "I").unpack_from
    positions = array("q")
    at = start
    while at < limit:
        positions.append(at)
        at += RECORD + captured(data, at + 8)[0]
    return np.array(positions[: len(positions) - (at > len(data))], np.int64), at


def beginning(data: bytes | mmap, packets: int, length: int) -> bytes:
    """Return a pcap file with the first `packets` packets of `data`, each cut to at most `length` bytes."""
    order = "<" if data[:1] in (b"\xd4", b"\x4d") else ">"
    header = struct.Struct(order + "4I")
    parts, at = [bytes(data[:GLOBAL])], GLOBAL
    for _ in range(packets):
        if at + RECORD > len(data):
            break
        seconds, fraction, captured, whole = header.unpack_from(data, at)
        kept = min(captured, length)
        parts += [header.pack(seconds, fraction, kept, whole), bytes(data[at + RECORD : at + RECORD + kept])]
        at += RECORD + captured
    return b"".join(parts)
