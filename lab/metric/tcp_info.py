"""Read a trial's tcp_info samples into columns."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lab.errors import LabError
from lab.guest.outputs import TCP_INFO_RECORD
from lab.metric.arrays import Ints, np

_EIGHTS = "state ca_state retransmits probes backoff options wscale delivery_rate_app_limited"
_WORDS = (  # from offset 8, 32 bits each
    "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv "
    "last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space total_retrans"
)
_TAIL = (  # from offset 104: name, bytes
    "pacing_rate:8 max_pacing_rate:8 bytes_acked:8 bytes_received:8 segs_out:4 segs_in:4 notsent_bytes:4 min_rtt:4 "
    "data_segs_in:4 data_segs_out:4 delivery_rate:8 busy_time:8 rwnd_limited:8 sndbuf_limited:8 delivered:4 "
    "delivered_ce:4 bytes_sent:8 bytes_retrans:8 dsack_dups:4 reord_seen:4 rcv_ooopack:4 snd_wnd:4 rcv_wnd:4 rehash:4 "
    "total_rto:2 total_rto_recoveries:2 total_rto_time:4"
)


def _layout() -> Mapping[str, tuple[int, str]]:
    """Return the offset and numpy type of each field of struct tcp_info, include/uapi/linux/tcp.h."""
    fields = {name: (offset, "u1") for offset, name in enumerate(_EIGHTS.split())}
    fields |= {name: (8 + 4 * index, "<u4") for index, name in enumerate(_WORDS.split())}
    offset = 104
    for field in _TAIL.split():
        name, size = field.split(":")
        fields[name] = (offset, f"<u{size}")
        offset += int(size)
    return fields


FIELDS = _layout()
_SEGMENTS, _SEGMENTS_AT = struct.Struct("<II"), FIELDS["segs_out"][0]  # segs_out and segs_in, which never fall
_OPENING = 3  # TCP_ESTABLISHED, TCP_SYN_SENT and TCP_SYN_RECV; no connection returns to them
_MOST_ALIKE = 100  # connections of a node with the same two ports at the same time


class TcpInfoError(LabError):
    """Raised if the samples are truncated, or the kernel's struct does not have the field."""


@dataclass(frozen=True)
class Samples:
    """Holds the samples of one connection, in order of time.

    `samples[name]` is a field's column in the kernel's unit (times are in us).
    """

    time_ns: Ints
    local_port: int
    remote_port: int
    raw: Ints  # one row per sample

    def __len__(self) -> int:
        return len(self.time_ns)

    def __contains__(self, name: str) -> bool:
        """Return whether the sampled kernel has the field."""
        offset, kind = FIELDS[name]
        return bool(offset + np.dtype(kind).itemsize <= self.raw.shape[1])

    def __getitem__(self, name: str) -> Ints:
        """Return one field over time.

        Raises TcpInfoError if the kernel's struct does not have the field.
        """
        if name not in FIELDS or name not in self:
            raise TcpInfoError(f"tcp_info of this kernel has no field '{name}'")
        offset, kind = FIELDS[name]
        size = np.dtype(kind).itemsize
        column: Ints = np.ascontiguousarray(self.raw[:, offset : offset + size]).view(kind)[:, 0]
        return column


class _Row(NamedTuple):
    at: int  # its place in the file
    time_ns: int
    info: bytes

    def growth(self, earlier: _Row) -> int | None:
        """Return the number of segments since an earlier sample; None if the samples have different connections."""
        if earlier.info and self.info and earlier.info[0] > _OPENING >= self.info[0]:
            return None
        if len(self.info) < _SEGMENTS_AT + _SEGMENTS.size:
            return 0
        before, after = (_SEGMENTS.unpack_from(each.info, _SEGMENTS_AT) for each in (earlier, self))
        grown = [new - old for old, new in zip(before, after, strict=True)]
        return None if min(grown) < 0 else sum(grown)


def read(path: Path) -> list[Samples]:
    """Return the samples of every connection, in order of first appearance.

    The samples have ports, and no addresses. Two connections with the same ports at the same time, such as those of two
    clients to one server, are told apart by their order and by their numbers of segments. A number of segments that
    falls, and a state before the last one, begin another connection. Raises TcpInfoError if the file is truncated, or
    has more than 100 connections with the same ports at the same time.
    """
    data = path.read_bytes()
    found: dict[tuple[int, int], list[_Row]] = {}
    at = 0
    while at < len(data):
        if at + TCP_INFO_RECORD.size > len(data):
            raise TcpInfoError(f"{path} ends within a sample")
        time_ns, ports, length = TCP_INFO_RECORD.unpack_from(data, at)
        at += TCP_INFO_RECORD.size
        if at + length > len(data):
            raise TcpInfoError(f"{path} ends within a sample")
        found.setdefault((ports, length), []).append(_Row(at, time_ns, data[at : at + length]))
        at += length
    connections = [(rows, *key) for key, alike in found.items() for rows in _told_apart(alike, path)]
    return [
        Samples(
            np.array([row.time_ns for row in rows], np.int64),
            ports >> 16,
            ports & 0xFFFF,
            np.frombuffer(b"".join(row.info for row in rows), np.uint8).reshape(len(rows), length),
        )
        for rows, ports, length in sorted(connections, key=lambda each: each[0][0].at)
    ]


def _told_apart(alike: Iterable[_Row], path: Path) -> list[list[_Row]]:
    """Return the samples of each connection, from samples with the same ports."""
    found: list[list[_Row]] = []
    last: list[list[_Row]] = []  # the connections of the moment before, in the order in which the kernel listed them
    for _, moment in groupby(alike, key=lambda row: row.time_ns):
        rows = list(moment)
        if len(rows) > _MOST_ALIKE:
            raise TcpInfoError(f"{path} has {len(rows):,} connections with the same ports at the same time")
        if len(rows) == len(last) and all(
            row.growth(each[-1]) is not None for row, each in zip(rows, last, strict=True)
        ):
            for row, each in zip(rows, last, strict=True):
                each.append(row)
            continue
        free, last = last, []
        for row in rows:
            grown = [(by, at) for at, each in enumerate(free) if (by := row.growth(each[-1])) is not None]
            if grown:
                connection = free.pop(min(grown)[1])
            else:
                connection = []
                found.append(connection)
            connection.append(row)
            last.append(connection)
    return found
