"""Turn a connection's packets into the sender's view: when each segment left, and which ACKs the sender then had."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lab.ext.explain.connections import FoundConnection, Rows
from lab.ext.explain.limits import CLEARLY, GROUP, LOCAL, SAME_MOMENT_LEAST_NS, TICK_NS
from lab.metric.arrays import Bools, Floats, Ints, np
from lab.metric.packets import ACK, FIN, RST, SYN

NEVER = np.iinfo(np.int64).min
ANY_WINDOW = 1 << 40  # bytes: no window is larger (RFC 7323 2.3), so it stands for an unknown one


@dataclass
class Unwrapping:
    """Unwraps numbers modulo 2^32, batch by batch. Numbers count from the first one."""

    last: int | None = None
    distance: int = 0

    def next(self, numbers: Ints) -> Ints:
        """Return the distances of the next numbers from the first number."""
        if not len(numbers):
            return np.zeros(0, np.int64)
        last = int(numbers[0]) if self.last is None else self.last
        steps = np.diff(numbers.astype(np.uint32), prepend=np.uint32(last)).view(np.int32)
        found = self.distance + np.cumsum(steps, dtype=np.int64)
        self.last, self.distance = int(numbers[-1]), int(found[-1])
        return found


@dataclass
class State:
    """Carries what one batch of a connection's packets leaves for the next."""

    seq: Unwrapping
    ack: Unwrapping
    value: Unwrapping  # of the sender's timestamps
    echo: Unwrapping  # of the receiver's
    tick: int | None = None  # ns, of the sender's timestamps
    least: int | None = None  # ns: the least difference between the capture's clock and the sender's
    highest: int = NEVER
    edge: int = NEVER
    acked: int = NEVER

    @classmethod
    def of(cls, isn: int) -> State:
        """Return the state before the first packet. Sequence numbers count from `isn`."""
        return cls(Unwrapping(isn), Unwrapping(isn), Unwrapping(), Unwrapping())


@dataclass
class SegmentsAndAcks:
    """Holds data segments and ACKs in columns, each in order of capture. Sequence numbers are unwrapped."""

    # data segments
    packet: Ints
    time: Ints
    seq: Ints
    end: Ints
    tls: Ints
    value: Ints  # of the timestamp, unwrapped; NEVER without one
    echo: Ints
    before: Ints  # the highest `end` of earlier segments
    queued: Ints  # ns on the way to the capture, above the least; NEVER if unknown
    # ACKs
    ack_packet: Ints
    ack_time: Ints
    ack: Ints  # the highest so far
    edge: Ints  # the right edge of the window, the furthest so far
    closed: Bools  # whether the window is zero
    carries: Bools  # payload
    ack_value: Ints
    sack_left: Ints  # unwrapped; NEVER without a block
    sack_right: Ints
    repeated: Bools  # acknowledges nothing new, and carries nothing
    rtt: int = 0  # ns; a segment that fills a hole sooner after the hole appeared was overtaken, not sent again

    @cached_property
    def highest(self) -> Ints:
        """Return the highest `end` up to each segment."""
        return np.maximum(self.before, self.end)

    @cached_property
    def again(self) -> Bools:
        """Return whether a segment repeats an earlier sequence number, or fills a hole after a round trip."""
        below: Bools = self.seq < self.before
        beyond = np.searchsorted(self.highest, self.end, side="left")  # the first segment that reached as far
        overtaken = (self.seq[beyond] >= self.end) & (self.time - self.time[beyond] < self.rtt)
        return below & ~overtaken


def exchange(rows: Rows, state: State, shift: int | None) -> SegmentsAndAcks:
    """Return the exchange in the next rows of a connection. `shift` is the window scale of the receiver, or None."""
    ahead = rows.forward.astype(bool)
    sent, back = rows[ahead], rows[~ahead]
    seq = state.seq.next(sent.seq)
    value = np.where(sent.stamped, state.value.next(np.where(sent.stamped, sent.ts_value, _filled(sent))), NEVER)
    queued = _queued(sent.time_ns, value, state)
    echo_number = _echoed(back, sent, state)
    end = seq + sent.payload + (sent.flags & FIN > 0)
    reached = np.maximum.accumulate(end) if len(end) else end
    before = np.maximum(np.concatenate(([NEVER], reached[:-1]))[: len(end)], state.highest)
    state.highest = max(state.highest, int(reached[-1])) if len(end) else state.highest
    data = (sent.payload > 0) & (sent.flags & (SYN | RST) == 0)
    probe = data & (sent.payload == 1) & (end <= before) & (seq + 1 == before)  # a keep-alive or a window probe
    data &= ~probe

    acks = (back.flags & ACK > 0) & (back.flags & RST == 0)
    back_value, back_ack = echo_number[0][acks], back[acks]
    number = state.ack.next(back_ack.ack)
    highest = np.maximum(np.maximum.accumulate(number), state.acked) if len(number) else number
    opening = back_ack.flags & SYN > 0  # its window is not scaled: RFC 7323 2.2
    window = back_ack.window.astype(np.int64) << np.where(opening, 0, shift or 0)
    edge = number + (ANY_WINDOW if shift is None else window)
    furthest = np.maximum(np.maximum.accumulate(edge), state.edge) if len(edge) else edge
    block = back_ack.sack_right != back_ack.sack_left
    left, right = (
        np.where(block, number + (column - back_ack.ack).astype(np.uint32).view(np.int32), NEVER)
        for column in (back_ack.sack_left.astype(np.uint32), back_ack.sack_right.astype(np.uint32))
    )
    earlier = np.concatenate(([state.acked], highest[:-1]))[: len(number)]
    repeated = (highest == earlier) & (back_ack.payload == 0) & ~opening
    if len(number):
        state.acked, state.edge = int(highest[-1]), int(furthest[-1])
    return SegmentsAndAcks(
        *(sent.packet[data], sent.time_ns[data], seq[data], (seq + sent.payload)[data]),
        *(sent.tls[data], value[data], echo_number[1][data], before[data], queued[data]),
        *(back_ack.packet, back_ack.time_ns, highest, furthest, back_ack.window == 0, back_ack.payload > 0),
        *(back_value, left, right, repeated),
    )


def _filled(rows: Rows) -> Ints:
    """Return the timestamps, with the last known one for rows that lack it."""
    at = np.maximum.accumulate(np.where(rows.stamped, np.arange(len(rows)), 0)) if len(rows) else rows.packet
    return rows.ts_value[at]


def _echoed(back: Rows, sent: Rows, state: State) -> tuple[Ints, Ints]:
    """Return the receiver's timestamps on one axis: those that its ACKs carry, and those that the sender echoes."""
    values = _filled(back).astype(np.uint32)
    own = state.echo.next(values)
    if not len(back) or not back.stamped.any():
        return np.full(len(back), NEVER), np.full(len(sent), NEVER)
    origin = np.uint32(state.echo.last or 0)
    echoes = state.echo.distance + (sent.ts_echo.astype(np.uint32) - origin).view(np.int32).astype(np.int64)
    return np.where(back.stamped, own, NEVER), np.where(sent.stamped & (sent.ts_echo > 0), echoes, NEVER)


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
    admitted = _admitted(found)
    if behind is not None and len(admitted) >= GROUP and 2 * np.median(admitted) < behind:
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


def _near(part: int, other: int) -> bool:
    """Return whether this part of the round trip is so short that the capture was taken at its end."""
    return part <= LOCAL * (part + other) or (part <= SAME_MOMENT_LEAST_NS and 2 * part <= other)


def _admitted(found: SegmentsAndAcks) -> Ints:
    """Return the time from each ACK that made room in the window to the first segment that needed the room.

    If a proxy acknowledges data, these times are shorter than the handshake's round trip to the server.
    """
    if not len(found.edge):
        return np.zeros(0, np.int64)
    at = np.searchsorted(found.edge, found.end, side="left")
    needs = (at > 0) & (at < len(found.edge)) & ~found.again
    since = (found.time - found.ack_time[np.minimum(at, len(found.edge) - 1)])[needs]
    return since[since >= 0]


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


def unseen(found: SegmentsAndAcks, start: int) -> int:
    """Return how many bytes from `start` on were acknowledged, but are in no captured segment."""
    if not len(found.ack):
        return 0
    order = np.argsort(found.seq, kind="stable")
    reached = np.maximum.accumulate(np.concatenate(([start], found.end[order])))
    gaps = np.minimum(np.concatenate((found.seq[order], found.ack[-1:])), found.ack[-1]) - reached
    return int(gaps[gaps > 1].sum())  # one is the end of the connection


@dataclass(frozen=True)
class SenderView:
    """Holds the sender's times: when segments left and when ACKs arrived, and the last ACK before each segment."""

    order: Ints  # of segments, by the time at which they left
    left: Ints  # ns, sorted
    arrived: Ints  # ns, of ACKs
    known: Ints  # index of the last ACK that had arrived when a segment left; -1 for none
    slack: int  # ns: times closer than this count as the same moment
    exact: bool  # whether the times are those of a capture at the sender


def sender_view(found: SegmentsAndAcks, where: Place, slack: int, tick: int | None) -> SenderView:
    """Return the view of the sender.

    A capture at the sender shows it. Elsewhere, an ACK takes `Place.behind` to the sender and back, and timestamps
    remove the time that segments waited in queues on their way, if their `tick` (ns) is short enough.
    """
    left, arrived = found.time, found.ack_time
    if where.name == "sender" and (where.rtt or 0) >= 2 * SAME_MOMENT_LEAST_NS:
        slack = min(slack, (where.rtt or 0) // 2)
    if where.name != "sender":
        fine = tick is not None and (where.behind or 0) >= 2 * tick
        slack = max(slack, 2 * (tick if tick and fine else TICK_NS))
        arrived = arrived + max((where.behind or 0) - slack // 2, 0)  # never before the segment that it acknowledges
        if fine:
            left = left - np.where((found.queued != NEVER) & ~found.again, found.queued, 0)
    order = np.argsort(left, kind="stable")
    left = left[order]
    known = np.searchsorted(arrived, left, side="right") - 1
    if (np.diff(found.ack_packet) > 0).all():  # no segment knew a later ACK, though a clock shows the same time
        known = np.minimum(known, np.searchsorted(found.ack_packet, found.packet[order]) - 1)
    return SenderView(order, left, arrived, known, slack, where.name == "sender")


def _queued(time: Ints, value: Ints, state: State) -> Ints:
    """Return how long each packet was on its way to the capture, above the least, from the sender's timestamps."""
    stamped = value != NEVER
    if stamped.sum() < 2:
        return np.full(len(time), NEVER)
    state.tick = state.tick or _tick(time[stamped], value[stamped])
    if state.tick is None:
        return np.full(len(time), NEVER)
    delay = time - value * state.tick
    least = int(delay[stamped].min())
    state.least = least if state.least is None else min(least, state.least)
    return np.where(stamped, delay - state.least, NEVER)


def _tick(time: Ints, value: Ints) -> int | None:
    """Return the period of the sender's timestamp clock in ns, if it is one that systems use."""
    ticks = int(value[-1] - value[0])
    if ticks < 20:
        return None
    period = (float(time[-1]) - float(time[0])) / ticks
    usual: Floats = np.array([1e6, 4e6, 1e7, 1e5, 1e3])
    best = usual[np.argmin(np.abs(np.log(usual / max(period, 1.0))))]
    return int(best) if 2 / 3 < period / best < 1.5 else None  # a queue that grows stretches it


def capacity(found: SegmentsAndAcks, where: Place) -> float:
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
        holes = np.zeros(len(fresh), np.int64)
    if len(time) < 8 * GROUP:
        return 0.0
    took, carried = time[GROUP:] - time[:-GROUP], reached[GROUP:] - reached[:-GROUP]
    usable = (took > 0) & (holes[GROUP:] == holes[:-GROUP])  # an ACK that fills a hole covers what came long before
    rates = carried[usable] / took[usable]
    return float(np.percentile(rates, 90) * 1e9) if len(rates) else 0.0
