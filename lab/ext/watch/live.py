"""Follow a probe's output while its trial runs: tcp_info samples, or the packets of a capture."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lab.guest.outputs import TCP_INFO_RECORD
from lab.metric.arrays import Ints, np
from lab.metric.capture import Capture
from lab.metric.flow import Connection, bulk
from lab.metric.packets import ACK, Flow
from lab.metric.pcap import GLOBAL, RECORD
from lab.metric.tcp_info import FIELDS
from lab.spec.metric import MetricError


@dataclass(frozen=True)
class Moment:
    """Holds a connection's state at one moment: window or bytes in flight, round-trip time, and acknowledged bytes."""

    time_ns: int
    window: int | None  # None if it is not visible
    trip_ns: int | None  # None if this moment shows none
    acked: int


class Followed(Protocol):
    """Follows a file that grows."""

    def new(self, path: Path) -> list[Moment]:
        """Return the moments written since the last call. `path` is the file's current path, if it exists."""


class FollowedSamples:
    """Follows the samples of the connection that has sent the most data so far. The window is cwnd."""

    def __init__(self) -> None:
        self._offset, self._ports, self._most = 0, -1, -1

    def new(self, path: Path) -> list[Moment]:
        """Return the samples since the last call."""
        data = _rest(path, self._offset)
        rows: list[tuple[int, Moment]] = []
        at = 0
        while at + TCP_INFO_RECORD.size <= len(data):
            time_ns, ports, length = TCP_INFO_RECORD.unpack_from(data, at)
            if at + TCP_INFO_RECORD.size + length > len(data):
                break
            at += TCP_INFO_RECORD.size
            info = data[at : at + length]
            at += length
            found = {name: _field(info, name) for name in ("snd_cwnd", "snd_mss", "rtt", "bytes_acked")}
            window = found["snd_cwnd"] * found["snd_mss"]
            rows.append((ports, Moment(time_ns, window, 1000 * found["rtt"] or None, found["bytes_acked"])))
            if found["bytes_acked"] > self._most:
                self._ports, self._most = ports, found["bytes_acked"]
        self._offset += at
        return [moment for ports, moment in rows if ports == self._ports]


class FollowedPackets:
    """Follows one connection: the one that carries the most payload at the start of the capture.

    The window is the bytes in flight.

    Only the sender's capture shows bytes in flight and round trips.
    """

    def __init__(self, at_sender: bool) -> None:
        self._at_sender, self._offset = at_sender, GLOBAL
        self._flow: Flow | None = None  # of the data
        self._last = 0  # acknowledged number, as sent; initially the first byte's
        self._acked = self._sent = 0  # bytes

    def new(self, path: Path) -> list[Moment]:
        """Return the moments at which ACKs arrived since the last call."""
        data = _rest(path, self._offset)
        if len(data) < RECORD:
            return []
        with tempfile.NamedTemporaryFile(prefix="lab-") as piece:
            piece.write(_rest(path, 0, GLOBAL) + data)
            piece.flush()
            capture = Capture(Path(piece.name))
            if not len(capture):
                return []
            self._offset += RECORD * len(capture) + int(capture.captured.sum())
            return self._moments(capture)

    def _moments(self, capture: Capture) -> list[Moment]:
        connection = self._connection(capture)
        if connection is None:
            return []
        ahead, back = connection.forward, connection.back
        seen = np.flatnonzero(back.flags & ACK)  # negative for data that was sent before this piece
        if not len(seen):
            return []
        raw = capture.ack[back.packet[seen]].astype(np.uint32)
        steps = np.diff(raw, prepend=np.uint32(self._last))
        acked = self._acked + np.cumsum(steps.view(np.int32), dtype=np.int64)
        place = np.searchsorted(ahead.packet, back.packet[seen])
        shift, here = acked - back.ack[seen], place > 0
        sent = np.full(len(seen), self._sent)  # this piece may begin with retransmissions
        sent[here] = np.maximum(self._sent, shift[here] + ahead.highest[place[here] - 1])
        if len(ahead):
            self._sent = max(self._sent, int(shift[-1] + ahead.highest[-1]))
        self._last, self._acked = int(raw[-1]), int(acked[-1])
        times, totals = back.time_ns[seen].tolist(), acked.tolist()
        if not self._at_sender:
            return [Moment(time, None, None, total) for time, total in zip(times, totals, strict=True)]
        inflight, trips = np.maximum(0, sent - acked).tolist(), _trips(connection, seen).tolist()
        return [
            Moment(time, window, trip if trip >= 0 else None, total)
            for time, window, trip, total in zip(times, inflight, trips, totals, strict=True)
        ]

    def _connection(self, capture: Capture) -> Connection | None:
        """Return the connection in this piece of the capture, with the direction of the first piece."""
        try:
            found = bulk(capture, self._flow.destination_port if self._flow else None)
        except MetricError:
            return None
        if self._flow is None and found.forward.data.any():
            self._flow = found.flow
            self._last = int(capture.seq[found.forward.packet[found.forward.data][0]])
        if self._flow == found.flow.reverse:
            return Connection(capture, self._flow)
        return found if self._flow == found.flow else None


def _trips(connection: Connection, seen: Ints) -> Ints:
    """Return, for each ACK, the time in ns since the last segment that it acknowledges was sent; -1 if unknown."""
    ahead, back = connection.forward, connection.back
    once = ahead.data & ~ahead.retransmitted
    ends, sent = ahead.end[once], ahead.time_ns[once]
    if not len(ends):
        return np.full(len(seen), -1)
    place = np.searchsorted(ends, back.ack[seen], side="right") - 1
    known = (place >= 0) & (ends[place] == back.ack[seen])
    return np.where(known, back.time_ns[seen] - sent[place], -1)


def _field(info: bytes, name: str) -> int:
    offset, kind = FIELDS[name]
    return int.from_bytes(info[offset : offset + np.dtype(kind).itemsize], "little")


def _rest(path: Path, offset: int, size: int = -1) -> bytes:
    """Return the file's contents from `offset` on; empty if the file does not exist yet."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except FileNotFoundError:
        return b""
