"""Compute goodput, round trips and time in queues of a network's flows, from captures at its hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.errors import LabError
from lab.ext.mininet.networks import BuiltNetwork, direction
from lab.metric import Capture, Connection
from lab.metric.packets import TCP, UDP, Flow
from lab.metric.rtt import TICK_NS
from lab.metric.sojourn import transits
from lab.record.record import Record
from lab.report.chart import Line, Panel, chart
from lab.report.drawing import ARMS
from lab.report.flow import acknowledged, round_trips, thinned, whole_bursts
from lab.report.wording import plural
from lab.units import Duration

DRAWN = len(ARMS)  # flows: one for each colour
LEAST_SEGMENTS = 20  # of a flow in a figure
POINTS = 400  # of a line; a drawing has few more pixels
_Points = list[tuple[float, float]]
_Series = tuple[Any, Any]  # times in ns, and values


@dataclass(frozen=True)
class MeasuredFlow:
    """Holds one direction of the traffic between two hosts."""

    ends: tuple[str, str]  # the names of the sender and the receiver; "" for an unknown host
    flow: Flow
    carried: tuple[int, int, int, int]  # bytes and segments of payload; when the first left, and the last came, in ns
    retransmitted: int  # segments
    trips: _Series  # round trips in ns, when their ACKs came
    queued: _Series  # the time in queues in ns, when the segments left the sender's stack
    arrived: _Series  # bytes that the sender knows, or the receiver got, by then

    @property
    def payload(self) -> int:
        """The bytes of payload. Retransmitted bytes count once."""
        return self.carried[0]

    @property
    def segments(self) -> int:
        """The number of segments with payload."""
        return self.carried[1]

    @property
    def start_ns(self) -> int:
        """The time at which the first segment with payload left."""
        return self.carried[2]

    @property
    def end_ns(self) -> int:
        """The time of the last segment with payload, or of the last acknowledgement."""
        return self.carried[3]

    @property
    def name(self) -> str:
        """The hosts and the receiver's port."""
        sender, receiver = (name or address for name, address in zip(self.ends, self._addresses, strict=True))
        return f"{sender} → {receiver}:{self.flow.destination_port}"

    @property
    def is_udp(self) -> bool:
        """Return whether the flow is UDP, which has no acknowledgements."""
        return self.flow.protocol == UDP

    @property
    def seconds(self) -> float:
        """The time from the first segment with payload to the last one, or to the last acknowledgement."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def goodput(self) -> float | None:
        """The goodput in bit/s, or None if all packets have the same time."""
        return 8 * self.payload / self.seconds if self.seconds > 0 else None

    @property
    def _addresses(self) -> tuple[str, str]:
        return self.flow.source, self.flow.destination


def flows(record: Record, network: BuiltNetwork) -> list[MeasuredFlow]:
    """Return the flows that carried payload over TCP or UDP, the largest first.

    Unreadable captures are skipped.
    """
    hosts = {address.split("/")[0]: end[0] for end, state in network.interfaces() for address in state.addresses}
    # A capture is behind the qdisc of its own interface, but before an exact wire.
    qdiscs = {end: state for end, state in network.interfaces() if not state.wire}
    delays = {end: Duration.of(direction(state)["delay"]).ns for end, state in qdiscs.items()}
    captures: dict[str, list[tuple[Capture, int]]] = {}
    for name, about in network.captures.items():
        try:
            capture = Capture(record.path(name))
            captures.setdefault(about.node, []).append((capture, delays.get((about.node, about.interface), 0)))
        except LabError:
            continue
    found = []
    for node, own in captures.items():
        for capture, delay in own:
            for flow in _sent(capture, [address for address, host in hosts.items() if host == node]):
                receiver = hosts.get(flow.destination, "")
                others = (each for each, _ in captures.get(receiver, ()) if flow in each.flows)
                measured = _measured((node, receiver), flow, capture, next(others, None), delay)
                found += [measured] if measured else []
    return sorted(found, key=lambda each: -each.payload)


def _sent(capture: Capture, addresses: Sequence[str]) -> Iterator[Flow]:
    """Yield the flows with payload that one of these addresses sends, but not a TCP connection's smaller direction."""
    census = capture.census
    for flow in census.flows:
        if flow.source in addresses and flow.destination not in addresses:
            back = census.number(flow.reverse)
            carried = census.carried[census.number(flow)]
            if flow.protocol == UDP or (
                flow.protocol == TCP and carried and (back is None or carried >= census.carried[back])
            ):
                yield flow


def _measured(
    ends: tuple[str, str], flow: Flow, sent: Capture, came: Capture | None, delay_ns: int
) -> MeasuredFlow | None:
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if flow.protocol == UDP:
        seen = came or sent
        own = seen.flow == seen.census.number(flow)
        times, sizes = seen.time_ns[own], seen.payload[own]
        if not sizes.sum():
            return None
        whole = int(sizes.sum()), len(times), int(times[0]), int(times[-1])
        return MeasuredFlow(ends, flow, whole, 0, nothing, nothing, (times, np.cumsum(sizes)))
    connection = Connection(sent, flow)
    ahead, acked = connection.forward, connection.acked_ns
    if not ahead.data.any():
        return None
    start = connection.start_ns
    waits = _own_waits(sent, ahead.packet, delay_ns)
    whole = (
        connection.payload_bytes,
        int(ahead.data.sum()),
        start,
        max(int(ahead.time_ns[ahead.data][-1]), acked[1] if acked else start),
    )
    queued = _queued(sent, came, connection, waits) if came else nothing
    again = int(ahead.retransmitted.sum())
    return MeasuredFlow(ends, flow, whole, again, round_trips(connection, waits), queued, acknowledged(connection))


def _own_waits(sent: Capture, packets: Any, delay_ns: int) -> Any:
    """Return the time for which each segment was in the sender's own interface, in ns, rounded down to 1 ms.

    The capture sees a segment after that interface's qdisc. The segment's timestamp is from before the qdisc, in ticks
    of 1 ms. The shortest time is `delay_ns`, the delay of the qdisc. Segments without a timestamp have this time, too.
    """
    time, value = sent.time_ns[packets], sent.ts_value[packets]
    stamped = sent.timestamped[packets]
    if not stamped.any():
        return np.full(len(packets), delay_ns)
    first = value[stamped][0]
    waits = time - TICK_NS * (value.astype(np.int64) - first).astype(np.int32).astype(np.int64)
    return delay_ns + np.where(stamped, (waits - waits[stamped].min()) // TICK_NS * TICK_NS, 0)


def _queued(sent: Capture, came: Capture, connection: Connection, waits: Any) -> _Series:
    """Return (times when segments left the sender's stack, their times in queues), in ns.

    The time is from the stack to the receiver, above the shortest such time of the flow.
    """
    at, there = transits(sent, came)
    own = np.isin(at, connection.forward.packet)
    at, there = np.sort(at[own]), there[own][np.argsort(at[own])]
    if not len(at):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    left = sent.time_ns[at] - waits[np.searchsorted(connection.forward.packet, at)]
    took = came.time_ns[there] - left
    return left, took - took.min()


def figure(found: Sequence[MeasuredFlow]) -> str:
    """Return a drawing of the largest flows' goodput, round trips and time in queues over time, or ""."""
    shown = [each for each in found if each.segments >= LEAST_SEGMENTS and each.seconds > 0][:DRAWN]
    if not shown:
        return ""
    zero = min(each.start_ns for each in shown)
    span = 0.0, (max(each.end_ns for each in shown) - zero) / 1e9
    kinds: Mapping[str, Any] = {
        "goodput, bit/s": lambda each: _goodput(each, zero),
        "round trip, ms": lambda each: thinned((each.trips[0] - zero) / 1e9, each.trips[1] / 1e6, POINTS),
        "time in queues, ms": lambda each: thinned((each.queued[0] - zero) / 1e9, each.queued[1] / 1e6, POINTS),
    }
    panels = []
    for title, points in kinds.items():
        shape: Any = "steps" if title.startswith("goodput") else "dots"
        lines = [
            Line(each.name if len(shown) > 1 else "", f"var(--arm-{number}, {colour})", points(each), shape=shape)
            for number, (each, colour) in enumerate(zip(shown, ARMS, strict=False), 1)
        ]
        having = tuple(line for line in lines if line.points)
        panels += [Panel(title, having)] if having else []
    alt = f"Over time, of {plural(len(shown), 'flow')}: {', '.join(panel.title for panel in panels)}"
    return chart(panels, "s since the first of these flows began", alt, span) if panels else ""


def _goodput(each: MeasuredFlow, zero: int) -> _Points:
    times, total = each.arrived
    return whole_bursts((times - zero) / 1e9, total, each.seconds / 100)
