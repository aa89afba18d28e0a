"""Encode messages of protocol buffers: a field's number and type, then its value.

Source: https://protobuf.dev/programming-guides/encoding. Google's own library is a dependency of the tests only. The
tests use it to read this module's output. Users do not need a library for three types of fields.
"""

from __future__ import annotations

_VARINT, _BYTES = 0, 2  # types of fields on the wire
_NEGATIVE = 1 << 64  # negative numbers are encoded as 64-bit complements


def number(field: int, value: int) -> bytes:
    """Return a field of type bool, enum, int32, int64, uint32 or uint64. Raises OverflowError beyond 64 bits."""
    if not -(_NEGATIVE >> 1) <= value < _NEGATIVE:
        raise OverflowError(f"{value} does not fit into 64 bits")
    return _varint(field << 3 | _VARINT) + _varint(value % _NEGATIVE)


def data(field: int, value: bytes | str) -> bytes:
    """Return a field of type string or bytes, or a message in a field."""
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
