"""Find the records of a pcap file, many at a time."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from mmap import mmap
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["GLOBAL", "RECORD", "beginning", "gather", "records"]

Ints: TypeAlias = npt.NDArray[Any]  # of any integer type

GLOBAL, RECORD = 24, 16  # bytes of the file's header and of a record's
_LONGEST = 2**18  # no packet is longer, captured or not (libpcap's MAXIMUM_SNAPLEN)
_DAYS = 2**20  # seconds that a capture is guessed to last at most
_REACH = 4096  # bytes searched for each guess


def gather(data: mmap, kind: npt.DTypeLike, at: Ints) -> Ints:
    """Read numpy type `kind` at these positions, aligned or not; past the end of `data`, any value."""
    wire = np.dtype(kind)
    view: Ints = np.ndarray((max(len(data) - wire.itemsize + 1, 0),), wire, data, strides=(1,))
    if len(view) == 0:
        return np.zeros(len(at), wire)
    if len(at) and at.max() >= len(view):
        at = np.minimum(at, len(view) - 1)
    return view[at]


def records(data: mmap, order: str, walks: int = 2048) -> Ints:
    """Return the positions of the record headers in a file of byte order `order` ("<" or ">").

    Each header says where the next one is. So that numpy can follow them, many walks go side by side, each from a guess
    of where a record starts to the first header at or past the next walk's guess. The first guess is the first record.
    If every walk ends on the next one's guess, all guesses were right; otherwise the file is walked in one.
    """

    def field(at: Ints, offset: int) -> Ints:
        return gather(data, order + "u4", at + offset).astype(np.int64)

    starts = _guesses(len(data), walks, field)
    ends = np.append(starts[1:], len(data) - RECORD + 1)
    at, steps = starts, []
    while (on := at < ends).any():
        steps.append(np.where(on, at, 0))
        at = np.where(on, at + RECORD + field(at, 8), at)
    if (at[:-1] != starts[1:]).any():
        return _walk(data, order)
    found: Ints = np.array(steps, np.int64).T.ravel() if steps else np.zeros(0, np.int64)
    found = found[found > 0]
    return found[:-1] if at[-1] > len(data) else found  # the file's end may cut the last packet short


def _guesses(size: int, walks: int, field: Callable[[Ints, int], Ints]) -> Ints:
    """Return the first record's position, then positions at which two records in a row look like records."""
    first = np.array([GLOBAL], np.int64)
    if size < walks * _REACH:
        return first
    epoch = int(field(first, 0)[0])

    def plausible(at: Ints) -> Ints:
        captured, length = field(at, 8), field(at, 12)
        near = (abs(field(at, 0) - epoch) < _DAYS) & (field(at, 4) < 10**9)
        return near & (captured > 0) & (captured <= length) & (length < _LONGEST)

    sought, found = np.linspace(GLOBAL, size - 2 * _REACH, walks, dtype=np.int64)[1:], [first]
    for _ in range(_REACH):
        right = plausible(sought)
        right[right] = plausible(sought[right] + RECORD + field(sought[right], 8))
        found.append(sought[right])
        sought = sought[~right] + 1
        if not len(sought):
            break
    return np.unique(np.concatenate(found))


def _walk(data: mmap, order: str) -> Ints:
    captured = struct.Struct(order + "I").unpack_from
    positions = array("q")
    at = GLOBAL
    while at + RECORD <= len(data):
        positions.append(at)
        at += RECORD + captured(data, at + 8)[0]
    return np.array(positions[: len(positions) - (at > len(data))], np.int64)


def beginning(data: bytes | mmap, packets: int, length: int) -> bytes:
    """Return a pcap file of the first packets of another, none of them captured for more than `length` bytes."""
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
