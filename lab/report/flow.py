"""Draw the bulk connection of a capture: the time-sequence graph, and the flow's limits over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.errors import LabError
from lab.guest import outputs
from lab.metric import Capture, Connection, bulk, sack_blocks
from lab.metric.arrays import Ints
from lab.metric.datagrams import addresses_of
from lab.metric.tcp_info import Samples, read
from lab.record.record import Record
from lab.report.chart import Line, Panel, chart

_SEGMENTS, _AROUND = 400, (60, 140)  # segments in a time-sequence graph: from the start, or around a retransmission
_ROOM = 2.5  # times the most in flight: a larger receive window is outside the picture
_SILENT = 0.8  # share of the longest silence nearby: a longer silence separates two bursts
_POINTS = 1000  # the most points of a line: twice as many as a drawing has pixels
BLUE, ORANGE, GREEN, _PURPLE, _INK = (
    *("var(--arm-1, #2060d7)", "var(--arm-2, #c84800)", "var(--arm-3, #0a5b4a)", "var(--said, #97677b)"),
    "var(--ink, #1a1a1a)",
)
SINCE = "s since the first data segment"

_FLAGS = {0x02: "SYN", 0x01: "FIN", 0x04: "RST", 0x08: "PSH", 0x10: "ACK"}

_Points = list[tuple[float, float]]


@dataclass(frozen=True)
class DrawnFlow:
    """Holds the connection with the most data in a capture, as one host saw it."""

    capture: Capture
    connection: Connection
    samples: Samples | None  # the kernel's tcp_info, if it was sampled
    at_sender: bool

    @property
    def is_bulk(self) -> bool:
        """Return whether the connection carries enough data to show its limits."""
        return int(self.connection.forward.data.sum()) > _SEGMENTS

    def sequence(self) -> str:
        """Return the time-sequence graph in tcptrace's style, from the start or around the first retransmission."""
        ahead, back, start = self.connection.forward, self.connection.back, self.connection.start_ns
        data = np.flatnonzero(ahead.data)
        again = np.flatnonzero(ahead.retransmitted[data])
        first = max(0, int(again[0]) - _AROUND[0]) if len(again) else 0
        shown = data[first : first + (sum(_AROUND) if len(again) else _SEGMENTS)]
        low, high = (float(ahead.time_ns[shown[end]] - start) / 1e9 for end in (0, -1))
        origin = int(ahead.seq[data[0]])

        def bars(rows: Any) -> list[tuple[float, float, float]]:
            times = (ahead.time_ns[rows] - start) / 1e9
            ends = ahead.seq[rows] - origin, ahead.seq[rows] + ahead.payload[rows] - origin
            return list(zip(times.tolist(), *(end.tolist() for end in ends), strict=True))

        times = (back.time_ns - start) / 1e9
        rows = np.flatnonzero((times >= low) & (times <= high) & (back.ack >= 0))
        acked, offered, at = back.ack[rows] - origin, back.ack[rows] + back.window[rows] - origin, times[rows]
        top = 1.5 * max(float(ahead.seq[each] + ahead.payload[each] - origin) for each in shown.tolist())
        sacks = sack_blocks(self.capture, back)
        blocks = [
            (float(times[row]), float(left - origin), float(right - origin))
            for row in rows.tolist()
            for left, right in sacks.get(row, ())
        ]
        lines = [
            Line("segments", BLUE, bars=bars(shown[~ahead.retransmitted[shown]])),
            Line("retransmitted", ORANGE, bars=bars(shown[ahead.retransmitted[shown]])),
            Line("SACK", _PURPLE, bars=blocks),
            Line("acknowledged", _INK, points=thinned(at, acked, _POINTS)),
            Line("receive window", GREEN, points=thinned(at[offered < top], offered[offered < top], _POINTS)),
        ]
        having = tuple(line for line in lines if line.points or line.bars)
        title = Panel("bytes", having, height=330, from_zero=first == 0)
        count = int(ahead.retransmitted[shown].sum())
        alt = f"Time-sequence graph of {len(shown)} segments, {count} of them retransmitted"
        return chart([title], SINCE, alt, (low, high))

    @property
    def segments(self) -> int:
        """Return the number of data segments."""
        return int(np.count_nonzero(self.connection.forward.payload))

    def packets(self, most: int) -> Iterator[str]:
        """Yield a line for each of the capture's first TCP packets: number, time, ports, flags and bytes of payload."""
        capture = self.capture
        for row in np.flatnonzero(capture.tcp)[:most].tolist():
            bits = int(capture.flags[row])
            flags = " ".join(name for bit, name in _FLAGS.items() if bits & bit)
            since = (int(capture.time_ns[row]) - self.connection.start_ns) / 1e6
            ports = f"{capture.source_port[row]} → {capture.destination_port[row]}"
            yield f"{row + 1:>3}  {since:.3f} ms  {ports}  {flags}  {capture.payload[row]:,} B"

    @property
    def seconds(self) -> float:
        """Return the time for which the connection carried data, in seconds."""
        return float(self.connection.forward.time_ns[-1] - self.connection.start_ns) / 1e9

    @property
    def said(self) -> str:
        """Return a description of the panels."""
        return f"Goodput, windows and round-trip time over {self.seconds:.3g} s"

    def panels(self) -> list[Panel]:
        """Return panels of the goodput, the windows that limit the flow, and the round-trip time."""
        panels = [Panel("goodput, bit/s", (Line("goodput", BLUE, points=self._goodput()),)), self._bytes()]
        times, trips = round_trips(self.connection)
        if self.at_sender and len(trips):
            title = f"round trip, ms; at least {trips.min() / 1e6:.4g}; the rest is queueing or a delayed ACK"
            points = thinned((times - self.connection.start_ns) / 1e9, trips / 1e6, _POINTS)
            panels.append(Panel(title, (Line("round trip", BLUE, points=points, shape="dots"),)))
        return [panel for panel in panels if panel.lines]

    def _goodput(self) -> _Points:
        """Return (s, bit/s) from burst to burst, at most fifty points.

        Bins of a fixed width would cut bursts. A mean over one burst would show when it began, not the rate.
        """
        times, acked = acknowledged(self.connection)
        return whole_bursts((times - self.connection.start_ns) / 1e9, acked, self.seconds / 50)

    def _bytes(self) -> Panel:
        start, ahead, back = self.connection.start_ns, self.connection.forward, self.connection.back
        lines = []
        if self.at_sender:
            lines.append(Line("in flight", BLUE, points=series(ahead.time_ns - start, self.connection.inflight)))
            if self.samples is not None:
                sent = self.samples["snd_cwnd"].astype(np.int64) * self.samples["snd_mss"]
                lines.append(Line("cwnd", ORANGE, points=series(self.samples.time_ns - start, sent)))
        top = _ROOM * max((value for line in lines for _, value in line.points), default=float("inf"))
        offered = back.ack >= 0
        windows = series((back.time_ns - start)[offered], back.window[offered])
        lines.append(Line("rwnd", GREEN, points=[point for point in windows if point[1] <= top]))
        return Panel("bytes", tuple(line for line in lines if line.points))


def acknowledged(connection: Connection) -> tuple[Ints, Ints]:
    """Return the times of the ACKs of new data, in ns, and how many bytes each acknowledges, from the first on."""
    acked = np.concatenate([part.acked for part in connection.parts()])
    fresh = np.flatnonzero(np.diff(np.maximum(acked, 0), prepend=0) > 0)
    return connection.back.time_ns[fresh], acked[fresh] - acked[fresh[:1]]


def round_trips(connection: Connection, waits: Ints | int = 0) -> tuple[Ints, Ints]:
    """Return the times of ACKs, and their round trips at the sender, both in ns.

    ACKs that cover a retransmitted segment have none (Karn). `waits` is the time for which each segment of `forward`
    had waited before its capture.
    """
    ahead, back = connection.forward, connection.back
    once = ahead.data & ~ahead.retransmitted
    ends, left = ahead.end[once], (ahead.time_ns - waits)[once]
    fresh = np.flatnonzero((back.ack >= 0) & (np.diff(np.maximum.accumulate(back.ack), prepend=-1) > 0))
    if not len(ends) or not len(fresh):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    acks, times = back.ack[fresh], back.time_ns[fresh]
    place = np.searchsorted(ends, acks, side="right") - 1
    known = (place >= 0) & (ends[place] == acks)
    covering = np.searchsorted(acks, ahead.end[ahead.retransmitted])
    known[covering[covering < len(fresh)]] = False
    return times[known], (times - left[place])[known]


def whole_bursts(times: Any, total: Any, least: float) -> _Points:
    """Return (s, bit/s) from the start of one burst to the start of a burst at least `least` s later, and so on.

    `total` holds the number of bytes that had arrived at each of `times` (s). A burst starts after a silence about as
    long as the longest silence within `least` of the burst. Without silences, each arrival is a burst. The mean over
    whole bursts is the rate, regardless of the bursts' period. An unfinished burst at the end is ignored.
    """
    if len(times) < 2 or least <= 0:
        return []
    silences = np.diff(times, prepend=times[0])
    places = (times // least).astype(np.int64)
    longest = np.zeros(int(places[-1]) + 3)
    np.maximum.at(longest, places + 1, silences)
    near = np.maximum(np.maximum(longest[:-2], longest[2:]), longest[1:-1])
    points, last = [], 0
    for start in np.flatnonzero(silences >= _SILENT * near[places]).tolist():
        span = float(times[start] - times[last])
        if span >= least:
            before = total[last - 1] if last else 0
            points.append((float(times[last]), float(8 * (total[start - 1] - before) / span)))
            last = start
    return points


def series(time_ns: Any, values: Any) -> _Points:
    """Return (s, value) since the first data segment, thinned for a drawing."""
    since = time_ns >= 0
    return thinned(time_ns[since] / 1e9, values[since], _POINTS)


def flow_of(record: Record, name: str) -> DrawnFlow | None:
    """Return the bulk connection in the capture `name`, or None if the capture has no payload."""
    try:
        capture = Capture(record.path(name))
        connection = bulk(capture)
        _ = connection.start_ns
    except LabError:
        return None
    node = name.split(".")[1]
    at_sender = connection.flow.source in addresses_of(record, node)
    return DrawnFlow(capture, connection, _samples(record, node, connection), at_sender)


def _samples(record: Record, node: str, connection: Connection) -> Samples | None:
    """Return the samples of the connection. A program may have others, such as iperf3's connection for control."""
    if outputs.tcp_info(node) not in record.outputs:
        return None
    ports = {connection.flow.source_port, connection.flow.destination_port}
    found: Sequence[Samples] = read(record.path(outputs.tcp_info(node)))
    return next((each for each in found if {each.local_port, each.remote_port} == ports), None)


def thinned(at: Any, values: Any, most: int) -> _Points:
    """Return the points of a line. If there are more points than `most`, return the highest point of each interval."""
    if len(at) > most:
        stretch = -(-len(at) // most)
        highest = [start + int(values[start : start + stretch].argmax()) for start in range(0, len(at), stretch)]
        at, values = at[highest], values[highest]
    return list(zip(at.tolist(), values.tolist(), strict=True))
