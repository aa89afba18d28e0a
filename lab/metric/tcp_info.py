"""Read a trial's tcp_info samples into columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def read(path: Path) -> list[Samples]:
    """Return the samples of every connection, in order of first appearance.

    Raises TcpInfoError if the file is truncated.
    """
    data = path.read_bytes()
    found: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
    at = 0
    while at < len(data):
        if at + TCP_INFO_RECORD.size > len(data):
            raise TcpInfoError(f"{path} ends within a sample")
        time_ns, ports, length = TCP_INFO_RECORD.unpack_from(data, at)
        at += TCP_INFO_RECORD.size
        if at + length > len(data):
            raise TcpInfoError(f"{path} ends within a sample")
        found.setdefault((ports, length), []).append((time_ns, data[at : at + length]))
        at += length
    return [
        Samples(
            np.array([time for time, _ in rows], np.int64),
            ports >> 16,
            ports & 0xFFFF,
            np.frombuffer(b"".join(info for _, info in rows), np.uint8).reshape(len(rows), length),
        )
        for (ports, length), rows in found.items()
    ]
