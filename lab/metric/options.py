"""Parse the TCP options of one packet: RFC 9293 3.1, RFC 7323, RFC 2018."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Holds a TCP header's options. A missing option is None, False or empty."""

    mss: int | None = None  # in bytes
    window_scale: int | None = None  # the shift
    sack_permitted: bool = False
    timestamps: tuple[int, int] | None = None  # (TSval, TSecr)
    sack: tuple[tuple[int, int], ...] = ()  # (left, right) edges

    @classmethod
    def parse(cls, data: bytes) -> Options:
        """Return the options in `data`, up to the end-of-options mark or the first malformed or truncated option."""
        found: dict[str, object] = {}
        while data and data[0] != 0:
            if data[0] == 1:  # no operation
                data = data[1:]
                continue
            size = data[1] if len(data) > 1 else 0
            if not 2 <= size <= len(data):
                break
            value, data, kind = data[2:size], data[size:], data[0]
            match kind, len(value):
                case 2, 2:
                    found["mss"] = int.from_bytes(value, "big")
                case 3, 1:
                    found["window_scale"] = value[0]
                case 4, 0:
                    found["sack_permitted"] = True
                case 5, length if length % 8 == 0:
                    found["sack"] = tuple(struct.iter_unpack(">II", value))
                case 8, 8:
                    found["timestamps"] = struct.unpack(">II", value)
        return cls(**found)  # type: ignore[arg-type]
