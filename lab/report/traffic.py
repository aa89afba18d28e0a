"""What a figure needs of a capture or of tcp_info samples: a few hundred numbers out of a million packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.metric import Connection, MetricError, connection_of, tcp_info_of
from lab.record import Record

__all__ = ["BIN", "TICK", "Series", "Traffic", "goodput_of_samples", "traffic_of"]

Numbers: TypeAlias = npt.NDArray[Any]

BIN, TICK = 0.1, 0.01  # seconds: of goodput, of the IO graph


@dataclass(frozen=True)
class Series:
    """Values over time, in seconds since the first data segment. Bins are named by their start."""

    time: Numbers
    value: Numbers

    def between(self, start: float, end: float) -> Series:
        """The part of that time."""
        inside = (self.time >= start) & (self.time < end)
        return Series(self.time[inside], self.value[inside])

    def means(self, bins: int) -> Series:
        """The means of so many bins each; less than half as many at the end belong to the last one."""
        if not len(self.time):
            return self
        starts = np.arange(0, max(1, len(self.time) - bins // 2 + 1), bins)
        counts = np.diff(np.append(starts, len(self.time)))
        return Series(self.time[starts], np.add.reduceat(self.value, starts) / counts)


@dataclass(frozen=True)
class Traffic:
    """One bulk connection. Goodput in bit/s, windows in bytes (the largest of each tick), packets a tick.

    `header_lengths` counts the data segments by the bytes of their TCP header.
    """

    goodput: Series
    rwnd: Series
    inflight: Series
    data: Series
    acks: Series
    header_lengths: Mapping[int, int]
    segments: int
    retransmitted: int


def traffic_of(record: Record, node: str = "sender") -> Traffic:
    """Reads the capture of `node`. Raises MetricError, RecordError when there is none with a connection in it."""
    connection = connection_of(record, node)
    start, ahead, back = connection.start_ns, connection.forward, connection.back
    lengths, counts = np.unique(ahead.header_length[ahead.data], return_counts=True)
    ticks, data, acks = connection.packets_per_tick(round(TICK * 1e9))
    return Traffic(
        goodput=_goodput(connection),
        rwnd=_peaks(back.time_ns - start, back.window),
        inflight=_peaks(ahead.time_ns - start, connection.inflight),
        data=Series(ticks, data),
        acks=Series(ticks, acks),
        header_lengths=dict(zip(lengths.tolist(), counts.tolist(), strict=True)),
        segments=int(ahead.data.sum()),
        retransmitted=int(ahead.retransmitted.sum()),
    )


def goodput_of_samples(record: Record, node: str = "sender") -> Series:
    """Goodput in bit/s in bins, by the kernel's own count of acknowledged bytes, where nothing was captured."""
    samples = tcp_info_of(record, node)
    time, acked = samples.time_ns, samples["bytes_acked"].astype(np.int64)
    sending = np.flatnonzero(np.diff(acked))
    if not len(sending):
        raise MetricError(f"the tcp_info samples of '{node}' saw no byte acknowledged")
    start, end = int(time[sending[0]]), int(time[sending[-1] + 1])
    edges = np.arange(start, end + 1, round(BIN * 1e9))
    if len(edges) < 2:
        raise MetricError(f"the transfer is shorter than {BIN:g} s: there is no goodput over time")
    return Series((edges[:-1] - start) / 1e9, 8 * np.diff(np.interp(edges, time, acked)) / BIN)


def _goodput(connection: Connection) -> Series:
    """Of whole bins only: the last one ends with the transfer, not with the bin."""
    time, goodput = connection.goodput_over_time(round(BIN * 1e9))
    times, acked = connection.acked
    whole = time + BIN <= (int(times[np.argmax(acked)]) - connection.start_ns) / 1e9 if len(times) else time < 0
    return Series(time[whole], goodput[whole])


def _peaks(time_ns: Numbers, value: Numbers) -> Series:
    """The largest value of every tick that has any."""
    if not len(time_ns):
        return Series(np.zeros(0), np.zeros(0))
    tick = time_ns // round(TICK * 1e9)
    starts = np.flatnonzero(np.diff(tick, prepend=tick[0] - 1))
    return Series(tick[starts] * TICK, np.maximum.reduceat(value, starts))
