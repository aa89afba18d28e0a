"""Tell where packets were captured."""

from __future__ import annotations

from dataclasses import dataclass

from lab.ext.explain.connections import FoundConnection, Rows
from lab.ext.explain.exchange import NEVER, SegmentsAndAcks
from lab.ext.explain.limits import (
    ALIKE,
    CLEARLY,
    DELAYED_ACK_NS,
    GROUP,
    HELD,
    LOCAL,
    SAME_MOMENT_LEAST_NS,
    TICK_NS,
    TOGETHER,
)
from lab.metric.arrays import Bools, Ints, np
from lab.metric.packets import ACK, RST, SYN


@dataclass(frozen=True)
class Place:
    """Says where the packets were captured, and what the two parts of the round trip are at least, in ns.

    `beyond` is the time from a segment at the capture to its ACK; `behind`, from an ACK at the capture to the segment
    that it releases. None means unknown.
    """

    name: str  # "sender", "receiver", "between" or "unknown"
    beyond: int | None
    behind: int | None
    reason: str

    @property
    def rtt(self) -> int | None:
        """Return the least round trip in ns."""
        return None if self.beyond is None or self.behind is None else self.beyond + self.behind


def to_acks(found: SegmentsAndAcks) -> tuple[Ints, Ints]:
    """Return (times of ACKs, time since the segment that they acknowledge), of segments that were sent once."""
    if not len(found.time) or not len(found.ack):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    new = np.concatenate(([True], np.diff(found.ack) > 0))
    at = np.searchsorted(found.highest, found.ack, side="left")
    fits = new & (at < len(found.time))
    at = np.minimum(at, len(found.time) - 1)
    latest_again = np.maximum.accumulate(np.where(found.again, found.end, NEVER))
    since = found.ack_time - found.time[at]
    last = np.clip(np.searchsorted(found.time, found.ack_time, side="right") - 1, 0, None)
    clean = latest_again[last] < found.seq[at] + 1  # no segment at or after this one was sent again
    fits &= (found.highest[at] == found.ack) & ~found.again[at] & clean & (since >= 0)
    return found.ack_time[fits], since[fits]


def selected(found: SegmentsAndAcks) -> tuple[Ints, Ints, Ints]:
    """Return (ends of segments, times of ACKs, time since the segment) of the ACKs that first selected a segment.

    The segment is the last one of a SACK block.
    """
    fresh = np.flatnonzero(~found.again)
    acks = np.flatnonzero(found.sack_right > found.ack)
    if not len(fresh) or not len(acks):
        empty = np.zeros(0, np.int64)
        return empty, empty, empty
    rights, first = np.unique(found.sack_right[acks], return_index=True)
    at = fresh[np.minimum(np.searchsorted(found.end[fresh], rights), len(fresh) - 1)]
    since = found.ack_time[acks[first]] - found.time[at]
    fits = (found.end[at] == rights) & (since >= 0)
    return rights[fits], found.ack_time[acks[first]][fits], since[fits]


def on_time(found: SegmentsAndAcks, times: Ints, since: Ints, least: int, capacity: float) -> Bools:
    """Return which ACKs were not held back, by their times and the time since the segment that they acknowledge.

    A receiver that is busy, or whose window does not grow, acknowledges many segments at once, the first ones late: its
    ACKs cover more than ACKs usually do. A delayed ACK comes 40 ms after its segment could have arrived: after the
    segments before at the bottleneck's rate, and `least` after it left.
    """
    covers = np.diff(found.ack, prepend=found.ack[:1])
    new = np.flatnonzero(covers > 0)
    usual = int(np.median(covers[new])) if len(new) else 0
    at = np.searchsorted(found.ack_time, times, side="left")
    last = np.searchsorted(found.ack_time, times, side="right")
    total = found.ack[last - 1] - found.ack[np.maximum(at - 1, 0)]
    prompt: Bools = total <= HELD * usual
    if not capacity or not len(new):
        return prompt
    one = np.searchsorted(found.ack_time[new], times, side="left") - 1
    before = np.where(one >= 0, found.ack_time[new][np.maximum(one, 0)], NEVER)
    earliest = np.maximum(before + (total * (1e9 / capacity)).astype(np.int64), times - since + least)
    prompt &= times - earliest < DELAYED_ACK_NS
    return prompt


def to_data(found: SegmentsAndAcks) -> tuple[Ints, Ints]:
    """Return (times of new segments, time since the ACK whose timestamp they echo, at least)."""
    if not len(found.time) or not len(found.ack_time) or not (found.ack_value != NEVER).any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    own = np.flatnonzero(found.ack_value != NEVER)
    values = np.maximum.accumulate(found.ack_value[own])
    asked = (found.echo != NEVER) & ~found.again
    at = np.searchsorted(values, found.echo, side="right") - 1
    asked &= at >= 0
    ack = own[np.maximum(at, 0)]
    since = found.time - found.ack_time[ack]
    asked &= (values[np.maximum(at, 0)] == found.echo) & (since >= 0)
    return found.time[asked], since[asked]


def place(rows: Rows, found: SegmentsAndAcks, connection: FoundConnection) -> Place:
    """Return where the packets were captured, from timestamps, the handshake, or the moments of segments and ACKs."""
    beyond = _least(to_acks(found)[1])
    echoed = _least(to_data(found)[1])
    opening, closing = _handshake(rows)  # SYN to SYN-ACK, SYN-ACK to ACK
    opener = not connection.ways[connection.forward].syn_acks
    behind: int | None
    if opening is not None and closing is not None:
        near = (opening, closing) if opener else (closing, opening)  # beyond, behind
        beyond = near[0] if beyond is None else min(beyond, near[0])
        behind = near[1] if echoed is None else min(near[1], echoed + TICK_NS)
        reason = "the times within the handshake"
    elif echoed is not None:
        behind, reason = echoed, "the times to echoed timestamps"
    else:
        behind, reason = _released(found, beyond), "the times from ACKs to segments"
    answered = _least(_answered(rows))
    if answered is not None and (behind is None or answered < behind):
        behind, reason = answered, "the times from messages of the other end to their ACKs"
    admitted = _admitted(found)
    if behind is not None and _shorter(admitted, behind, beyond or 0):
        behind, reason = int(admitted.min()), "segments that windows admitted sooner than the handshake's round trip"
    if beyond is None or behind is None:
        return Place("unknown", beyond, behind, "neither a handshake nor timestamps were captured")
    whole = beyond + behind
    if whole < SAME_MOMENT_LEAST_NS and CLEARLY * min(beyond, behind) >= whole:
        return Place("sender", beyond, behind, "the round trip is too short to tell the ends apart")
    if _near(behind, beyond):
        return Place("sender", beyond, behind, reason)
    if _near(beyond, behind):
        return Place("receiver", beyond, behind, reason)
    return Place("between", beyond, behind, reason)


def _shorter(admitted: Ints, behind: int, beyond: int) -> bool:
    """Return whether these times show a shorter round trip. Near the sender, its reaction alone makes them differ."""
    if len(admitted) < GROUP or admitted.min() >= behind:
        return False
    return 2 * float(np.median(admitted)) < behind or not _near(behind, beyond)


def _near(part: int, other: int) -> bool:
    """Return whether this part of the round trip is so short that the capture was taken at its end."""
    return part <= LOCAL * (part + other) or (part <= SAME_MOMENT_LEAST_NS and 2 * part <= other)


def _admitted(found: SegmentsAndAcks) -> Ints:
    """Return the time from each ACK that made room in the window to the first segment that needed the room.

    No sender can answer sooner. If a proxy acknowledges data, these times are shorter than the handshake's round trip
    to the server. A segment that left a hole may have overtaken others, and does not count.
    """
    if not len(found.edge):
        return np.zeros(0, np.int64)
    at = np.searchsorted(found.edge, found.end, side="left")
    needs = (at > 0) & (at < len(found.edge)) & (found.seq == found.before)
    since: Ints = (found.time - found.ack_time[np.minimum(at, len(found.edge) - 1)])[needs]
    return since[since >= 0]


def _answered(rows: Rows) -> Ints:
    """Return the time from each message of the other end, sent once, to the first ACK of its end."""
    back = np.flatnonzero((rows.forward == 0) & (rows.payload > 0))
    acks = np.flatnonzero((rows.forward != 0) & (rows.flags & ACK > 0))
    ends, first, count = np.unique(
        (rows.seq[back].astype(np.int64) + rows.payload[back]) % 2**32, return_index=True, return_counts=True
    )
    number, early = np.unique(rows.ack[acks].astype(np.int64), return_index=True)
    _, one, other = np.intersect1d(ends[count == 1], number, assume_unique=True, return_indices=True)
    message, answer = back[first[count == 1][one]], acks[early[other]]
    since: Ints = (rows.time_ns[answer] - rows.time_ns[message])[answer > message]
    return since


def _least(times: Ints) -> int | None:
    return int(times.min()) if len(times) else None


def _handshake(rows: Rows) -> tuple[int | None, int | None]:
    """Return the times from SYN to SYN-ACK and from there to the ACK, without retransmissions, or None."""
    flags = rows.flags & (SYN | ACK | RST)
    syns, answers = np.flatnonzero(flags == SYN), np.flatnonzero(flags == SYN | ACK)
    if len(syns) != 1 or len(answers) != 1 or syns[0] > answers[0]:
        return None, None
    opening = int(rows.time_ns[answers[0]] - rows.time_ns[syns[0]])
    opener = rows.forward[syns[0]]
    after = np.flatnonzero((rows.forward[: 64 + answers[0]] == opener) & (flags[: 64 + answers[0]] == ACK))
    after = after[after > answers[0]]
    return opening, int(rows.time_ns[after[0]] - rows.time_ns[answers[0]]) if len(after) else None


def _released(found: SegmentsAndAcks, beyond: int | None) -> int | None:
    """Return the least time from an ACK to the next segment if most segments follow an ACK at once, else None."""
    if beyond is None or not len(found.ack_time):
        return None
    last = np.searchsorted(found.ack_time, found.time, side="right") - 1
    since = (found.time - found.ack_time[np.maximum(last, 0)])[last >= 0]
    soon = since <= LOCAL * beyond
    return int(since.min()) if len(since) and soon.mean() > 0.5 else None


def capacity(found: SegmentsAndAcks, where: Place, mss: int) -> float:
    """Return the rate at which groups of segments, or of ACKs at the sender, passed the capture when they came fastest.

    In bytes per second; 0 if unknown. Behind the bottleneck, this is the bottleneck's rate (packet dispersion:
    Siekkinen et al. 2005).
    """
    if where.name == "sender":
        new = np.flatnonzero(np.diff(found.ack, prepend=found.ack[:1]) > 0)
        time, reached = found.ack_time[new], found.ack[new]
        holes = np.cumsum(found.sack_right != NEVER)[new]
    else:
        fresh = np.flatnonzero(~found.again)
        time, reached = found.time[fresh], np.cumsum((found.end - found.seq)[fresh])
        last = np.append(super_packets(time, (found.end - found.seq)[fresh])[1:], True)[: len(time)]
        time, reached = time[last], reached[last]
        holes = np.zeros(len(time), np.int64)
    if len(time) < 8 * GROUP:
        return 0.0
    took, carried = time[GROUP:] - time[:-GROUP], reached[GROUP:] - reached[:-GROUP]
    usable = (took > 0) & (holes[GROUP:] == holes[:-GROUP])  # an ACK that fills a hole covers what came long before
    rates = carried[usable] / took[usable]
    rate = float(np.percentile(rates, 90) * 1e9) if len(rates) else 0.0
    return max(rate, _dispersion(found, mss)) if where.name == "receiver" else rate


def _dispersion(found: SegmentsAndAcks, mss: int) -> float:
    """Return the rate at which pairs of full segments passed that left together, in bytes per second; 0 if unknown.

    A segment without PSH is not the last one of its super-packet (tcp_gso_segment), unless it left alone. Segments that
    ACKs release in pairs use the rate for a pair at a time, and no larger group shows it.
    """
    size = found.end - found.seq
    pairs = (size[1:] == mss) & (size[:-1] == mss) & (found.seq[1:] == found.before[1:]) & ~found.pushed[:-1]
    took = np.diff(found.time)[pairs & (np.diff(found.time) > 0)]
    if len(took) < 8 * GROUP or not found.pushed.any():
        return 0.0
    least = float(np.percentile(took, 5))
    return 1e9 * mss / least if float(np.median(took)) <= (1 + ALIKE) * least else 0.0


def super_packets(time: Ints, size: Ints) -> Bools:
    """Return which segments are the first of those that pass together as a super-packet, or pass alone.

    A segment that comes sooner than its own transmission takes passed together with the one before.
    """
    apart = np.diff(time)
    later = np.concatenate(([True], apart > 0))[: len(time)]
    whole = np.bincount(np.cumsum(later) - 1, size) if len(time) else size
    usual = float(np.median(apart[apart > 0] / whole[1:])) if (apart > 0).any() else 0.0
    return np.concatenate(([True], apart > TOGETHER * usual * size[1:]))[: len(time)]
