"""Reduce a capture or tcp_info samples to the data for a figure: a few hundred numbers from a million packets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.metric import Connection, MetricError, connection_of, header_lengths, tcp_info_of
from lab.record.record import Record

_Numbers: TypeAlias = npt.NDArray[Any]

BIN, TICK = 0.1, 0.01  # seconds: a bin of goodput, a tick of the IO graph


@dataclass(frozen=True)
class Series:
    """Holds values over time, in seconds since the first data segment. A bin's time is the start of the bin."""

    time: _Numbers
    value: _Numbers

    def between(self, start: float, end: float) -> Series:
        """Return the part of the series from `start` to `end`."""
        inside = (self.time >= start) & (self.time < end)
        return Series(self.time[inside], self.value[inside])

    def means(self, bins: int) -> Series:
        """Return the means over `bins` bins each. A remainder of less than half of `bins` belongs to the last mean."""
        if not len(self.time):
            return self
        starts = np.arange(0, max(1, len(self.time) - bins // 2 + 1), bins)
        counts = np.diff(np.append(starts, len(self.time)))
        return Series(self.time[starts], np.add.reduceat(self.value, starts) / counts)


@dataclass(frozen=True)
class DrawnTraffic:
    """Holds the traffic of one bulk connection over time."""

    goodput: Series  # in bit/s
    rwnd: Series  # in bytes, the largest per tick
    inflight: Series  # in bytes, the largest per tick
    data: Series  # packets per tick
    acks: Series  # packets per tick
    header_lengths: Mapping[int, int]  # bytes of the TCP header -> data segments
    segments: int
    retransmitted: int


def traffic_of(record: Record, node: str = "sender") -> DrawnTraffic:
    """Return the traffic in the capture of `node`.

    Raises MetricError or RecordError if there is no capture with a connection.
    """
    connection = connection_of(record, node)
    start, lengths = connection.start_ns, header_lengths(connection)
    ticks, data, acks = connection.packets_per_tick(round(TICK * 1e9))
    return DrawnTraffic(
        goodput=_goodput(connection),
        rwnd=_peaks((part.back.time_ns - start, part.back.window) for part in connection.parts()),
        inflight=_peaks((part.forward.time_ns - start, part.inflight) for part in connection.parts()),
        data=Series(ticks, data),
        acks=Series(ticks, acks),
        header_lengths=lengths,
        segments=sum(lengths.values()),
        retransmitted=sum(int(part.forward.retransmitted.sum()) for part in connection.parts()),
    )


def goodput_of_samples(record: Record, node: str = "sender") -> Series:
    """Return the goodput of each bin, in bit/s, from the kernel's own count of acknowledged bytes, without a capture.

    Raises MetricError if no byte was acknowledged, or the transfer is shorter than a bin.
    """
    samples = tcp_info_of(record, node)
    time, acked = samples.time_ns, samples["bytes_acked"].astype(np.int64)
    sending = np.flatnonzero(np.diff(acked))
    if not len(sending):
        raise MetricError(f"the tcp_info samples of '{node}' have no acknowledged bytes")
    start, end = int(time[sending[0]]), int(time[sending[-1] + 1])
    edges = np.arange(start, end + 1, round(BIN * 1e9))
    if len(edges) < 2:
        raise MetricError(f"the transfer is shorter than {BIN:g} s: there is no goodput over time")
    return Series((edges[:-1] - start) / 1e9, 8 * np.diff(np.interp(edges, time, acked)) / BIN)


def _goodput(connection: Connection) -> Series:
    """Return the goodput of complete bins only. The last bin is usually incomplete."""
    time, goodput = connection.goodput_over_time(round(BIN * 1e9))
    acked = connection.acked_ns
    whole = time + BIN <= (acked[1] - connection.start_ns) / 1e9 if acked else time < 0
    return Series(time[whole], goodput[whole])


def _peaks(parts: Iterable[tuple[_Numbers, _Numbers]]) -> Series:
    """Return the largest value in every tick that has values, over parts in chronological order."""
    found = [_peaks_of(time_ns // round(TICK * 1e9), value) for time_ns, value in parts if len(time_ns)]
    if not found:
        return Series(np.zeros(0), np.zeros(0))
    tick, peak = _peaks_of(
        *(np.concatenate(each) for each in zip(*found, strict=True))
    )  # for ticks that two parts share
    return Series(tick * TICK, peak)


def _peaks_of(tick: _Numbers, value: _Numbers) -> tuple[_Numbers, _Numbers]:
    starts = np.flatnonzero(np.diff(tick, prepend=tick[0] - 1))
    return tick[starts], np.maximum.reduceat(value, starts)
