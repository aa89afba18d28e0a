"""Tell what the first packet that differs between two captures shows about TCP, such as a delayed ACK or a window.

Each rule looks only at the packets. The packets before the first difference are the same on both sides, so the network
was in the same state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lab.ext.comparison.segments import FLAGS, SegmentTable
from lab.metric.packets import ACK, FIN, RST, SYN
from lab.report import wording
from lab.units import Value

_Packet: TypeAlias = Mapping[str, int]

DELAYED_ACK = "Delayed ACK"
WINDOW = "Receive window"
_AT_ONCE = 1_000_000  # ns; a host that sends an ACK at once needs no virtual time, and a timer at least a tick


@dataclass(frozen=True, slots=True)
class Meaning:
    """Describes what differs, in words that fit several trials."""

    topic: str  # the part of TCP, such as "Delayed ACK"
    says: str  # the difference, new kernel first; "" if the packets do not tell more


UNKNOWN = Meaning("Packets", "")


def meaning(base: SegmentTable, new: SegmentTable, index: int, fields: Sequence[str]) -> Meaning:
    """Return what the first difference shows: the packets at `index` differ in `fields`."""
    if "end" in fields:
        more = "base" if len(base) > len(new) else "new"
        packet = (base if more == "base" else new).packet(index)
        return Meaning("Number of packets", f"only the {more} kernel sends a further packet, {_kind(packet)}")
    if "flow" in fields:
        return _turn(base, new, index)
    then, now = base.packet(index), new.packet(index)
    for name, tell in _BY_FIELD.items():
        if name in fields:
            return tell(base, new, index)
    return _time(base, new, index, then, now)


def _window(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    then, now = base.packet(index), new.packet(index)
    if now["flags"] & SYN:
        return Meaning(WINDOW, f"the SYN offers {now['window']:,} B; on the base kernel {then['window']:,} B")
    flow = now["flow"]
    most = [_most_offered(each, flow) for each in (new, base)]
    if most[0] != most[1] and all(most):
        return Meaning(WINDOW, f"a host offers up to {most[0]:,} B; on the base kernel {most[1]:,} B")
    scales = [max(int(each.scales[flow]), 1) for each in (new, base)]
    offered = now["window"] * scales[0], then["window"] * scales[1]
    where = f"after {now['ack']:,} B" if now["ack"] else "in one packet"
    return Meaning(WINDOW, f"a host offers {offered[0]:,} B {where}; on the base kernel {offered[1]:,} B")


def _most_offered(side: SegmentTable, flow: int) -> int:
    """Return the largest window of a flow in bytes, or 0 if the capture does not show the windows' factor."""
    columns = side.columns
    windows = columns["window"][(columns["flow"] == flow) & (columns["flags"] & SYN == 0)]
    return int(windows.max()) * int(side.scales[flow]) if len(windows) else 0


def _options(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    then, now = (side.options.get(index) or "no options" for side in (base, new))
    is_syn = new.packet(index)["flags"] & SYN
    topic, packet = ("Options of the SYN", "the SYN") if is_syn else ("SACK", "an ACK")
    return Meaning(topic, f"{packet} has {now}; on the base kernel {then}")


def _flags(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    then, now = base.packet(index)["flags"], new.packet(index)["flags"]
    apart = [name for bit, name in FLAGS.items() if (then ^ now) & bit]
    having = {
        side: [name for bit, name in FLAGS.items() if flags & ~other & bit]
        for side, flags, other in (("new", now, then), ("base", then, now))
    }
    said = " and ".join(f"{', '.join(names)} only on the {side} kernel" for side, names in having.items() if names)
    return Meaning("ECN" if {*apart} <= {"ECE", "CWR"} else "Flags", said)


def _payload(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    then, now = base.packet(index)["payload"], new.packet(index)["payload"]
    return Meaning("Segment size", f"a segment has {now:,} B of data; on the base kernel {then:,} B")


def _header(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    then, now = base.packet(index)["header"], new.packet(index)["header"]
    return Meaning("TCP header", f"a header has {now} B; on the base kernel {then} B")


def _acknowledged(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    then, now = base.packet(index)["ack"], new.packet(index)["ack"]
    return Meaning("ACK frequency", f"an ACK acknowledges {now:,} B; on the base kernel {then:,} B")


def _order(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    then, now = (_is_sent_again(side, index) for side in (base, new))
    if then != now:
        side = "new" if now else "base"
        return Meaning("Retransmission", f"only the {side} kernel retransmits a segment here")
    return Meaning("Order of segments", "a different segment is sent")


_BY_FIELD = {  # the first field that differs decides
    "options": _options,
    "header": _header,
    "seq": _order,
    "payload": _payload,
    "ack": _acknowledged,
    "flags": _flags,
    "window": _window,
}


def _time(base: SegmentTable, new: SegmentTable, index: int, then: _Packet, now: _Packet) -> Meaning:
    """Return what it means that the same packet comes at a different time."""
    late = now["time"] - then["time"]
    said = f"{_duration(abs(late))} {'later' if late > 0 else 'sooner'} than on the base kernel"
    if _is_bare(now):
        before, after = (_waited(side, index) for side in (base, new))
        if before is not None and after is not None and abs(after - before) >= _AT_ONCE:
            return _delayed(after, before)
        return Meaning("Time of ACKs", f"an ACK without new data comes {said}")
    if now["payload"] and _is_sent_again(new, index):
        return Meaning("Retransmission", f"a segment is retransmitted {said}")
    if now["flags"] & (SYN | FIN | RST):
        return Meaning("Time of sending", f"{_kind(now)} comes {said}")
    return Meaning("Time of sending", f"a segment is sent {said}")


def _turn(base: SegmentTable, new: SegmentTable, index: int) -> Meaning:
    """Return what it means that the next packet comes from different hosts, or belongs to different connections."""
    then, now = base.packet(index), new.packet(index)
    for name, side, packet, other in (("new", new, now, base), ("base", base, then, new)):
        waited = _waited(side, index)
        if not _is_bare(packet) or waited is None:
            continue
        match = _answer(other, index, packet)
        reply = None if match is None else _waited(other, match)
        if match is not None and reply is not None and _is_bare(other.packet(match)):
            if abs(reply - waited) >= _AT_ONCE:
                return _delayed(waited, reply) if name == "new" else _delayed(reply, waited)
            if other.packet(match)["ack"] == packet["ack"]:
                continue  # both kernels send this ACK, so the packet before it is what differs
        if waited >= _AT_ONCE:
            return Meaning(DELAYED_ACK, f"only on the {name} kernel, an ACK waits {_duration(waited)}")
        return Meaning("ACK frequency", f"only the {name} kernel sends an ACK after {packet['ack']:,} B")
    for name, packet in (("new", now), ("base", then)):
        if packet["payload"]:
            said = f"only the {name} kernel sends {packet['payload']:,} B more before the other host answers"
            return Meaning("Data in flight", said)
    return Meaning("Order of packets", f"{_kind(now)} comes next; on the base kernel {_kind(then)}")


def _delayed(now: int, then: int) -> Meaning:
    return Meaning(DELAYED_ACK, f"an ACK waits {_duration(now)}; on the base kernel {_duration(then)}")


def _waited(side: SegmentTable, index: int) -> int | None:
    """Return how long, in ns, the host behind a packet waited before it acknowledged new data.

    The wait counts from the oldest segment that the packet acknowledges, and excludes the path's round trip to that
    host, as the handshake shows it. Return None if the packet acknowledges no new data.
    """
    columns, packet = side.columns, side.packet(index)
    other = int(side.reverse[packet["flow"]])
    if other < 0 or not packet["flags"] & ACK:
        return None
    flow, ack, seq, payload = (columns[name][:index] for name in ("flow", "ack", "seq", "payload"))
    known = ack[flow == packet["flow"]].max(initial=0)
    new = np.flatnonzero((flow == other) & (payload > 0) & (seq >= known) & (seq + payload <= packet["ack"]))
    if not len(new):
        return None
    return int(columns["time"][index] - columns["time"][new[0]]) - _trip(side, packet["flow"])


def _trip(side: SegmentTable, flow: int) -> int:
    """Return the time from the place of the capture to the host that sends `flow` and back, from the handshake."""
    columns = side.columns
    theirs = np.flatnonzero(columns["flow"] == flow)
    others = np.flatnonzero(columns["flow"] == side.reverse[flow])
    if not len(theirs) or not len(others) or not columns["flags"][others[0]] & SYN:
        return 0
    replies = theirs[theirs > others[0]]
    return int(columns["time"][replies[0]] - columns["time"][others[0]]) if len(replies) else 0


def _answer(side: SegmentTable, start: int, packet: _Packet) -> int | None:
    """Return the first packet from `start` on that acknowledges as much as `packet`."""
    columns = side.columns
    found = np.flatnonzero((columns["flow"][start:] == packet["flow"]) & (columns["ack"][start:] >= packet["ack"]))
    return start + int(found[0]) if len(found) else None


def _is_bare(packet: _Packet) -> bool:
    """Return whether a packet is only an ACK."""
    return not packet["payload"] and bool(packet["flags"] & ACK) and not packet["flags"] & (SYN | FIN | RST)


def _is_sent_again(side: SegmentTable, index: int) -> bool:
    packet, columns = side.packet(index), side.columns
    earlier = columns["flow"][:index] == packet["flow"]
    ends = (columns["seq"] + columns["payload"])[:index][earlier]
    return bool(packet["payload"]) and packet["seq"] < int(ends.max(initial=0))


def _kind(packet: _Packet) -> str:
    flags = "+".join(name for bit, name in FLAGS.items() if packet["flags"] & bit)
    return f"{packet['payload']:,} B of data" if packet["payload"] else f"a packet with {flags or 'no flag'}"


def _duration(ns: int) -> str:
    return wording.figure(Value(ns / 1e9, "s"))
