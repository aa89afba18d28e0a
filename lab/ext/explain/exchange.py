"""Turn a connection's packets into data segments and ACKs, in columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lab.ext.explain.connections import Rows
from lab.metric.arrays import Bools, Floats, Ints, np
from lab.metric.flow import Unwrapped
from lab.metric.packets import ACK, FIN, PSH, RST, SYN

NEVER = np.iinfo(np.int64).min
ANY_WINDOW = 1 << 40  # bytes: no window is larger (RFC 7323 2.3), so it stands for an unknown one
HZ_300 = 1e9 / 300  # ns: the period of the timestamps of a kernel before 4.13 whose CONFIG_HZ is 300


@dataclass
class State:
    """Carries what one batch of a connection's packets leaves for the next."""

    seq: Unwrapped
    ack: Unwrapped
    value: Unwrapped  # of the sender's timestamps
    echo: Unwrapped  # of the receiver's
    tick: int | None = None  # ns, of the sender's timestamps
    least: int | None = None  # ns: the least difference between the capture's clock and the sender's
    highest: int = NEVER
    edge: int = NEVER
    acked: int = NEVER

    @classmethod
    def of(cls, isn: int) -> State:
        """Return the state before the first packet. Sequence numbers count from `isn`."""
        return cls(Unwrapped(isn), Unwrapped(isn), Unwrapped(), Unwrapped())


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
    pushed: Bools  # whether PSH is set
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
    echo_number = _echoed(back, sent, state)
    queued = _queued(sent.time_ns, value, _asked(back, *echo_number), state)
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
        (sent.flags & PSH > 0)[data],
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


def _asked(back: Rows, own: Ints, echoes: Ints) -> Ints:
    """Return when the first packet passed whose timestamp each segment echoes; NEVER if unknown."""
    if not len(own):
        return np.full(len(echoes), NEVER)
    reached = np.maximum.accumulate(own)
    at = np.minimum(np.searchsorted(reached, echoes, side="left"), len(reached) - 1)
    return np.where((echoes != NEVER) & (reached[at] == echoes), back.time_ns[at], NEVER)


def unseen(found: SegmentsAndAcks, start: int) -> int:
    """Return how many bytes from `start` on were acknowledged, but are in no captured segment."""
    if not len(found.ack):
        return 0
    order = np.argsort(found.seq, kind="stable")
    reached = np.maximum.accumulate(np.concatenate(([start], found.end[order])))
    gaps = np.minimum(np.concatenate((found.seq[order], found.ack[-1:])), found.ack[-1]) - reached
    return int(gaps[gaps > 1].sum())  # one is the end of the connection


def holes(found: SegmentsAndAcks) -> tuple[Ints, Ints]:
    """Return the spans of bytes between segments that are in no captured segment, in order."""
    order = np.argsort(found.seq, kind="stable")
    reached, following = np.maximum.accumulate(found.end[order])[:-1], found.seq[order][1:]
    real = following > reached
    return reached[real], following[real]


def _queued(time: Ints, value: Ints, asked: Ints, state: State) -> Ints:
    """Return how long each packet was on its way to the capture, above the least, from the sender's timestamps."""
    stamped = value != NEVER
    if stamped.sum() < 2:
        return np.full(len(time), NEVER)
    state.tick = state.tick or _tick(time[stamped], value[stamped]) or _tick_of_echoes(value, asked)
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
    if abs(period / HZ_300 - 1) < 0.1:  # 250 Hz is near, and a growing queue stretches 1000 Hz as far
        return int(HZ_300)
    usual: Floats = np.array([1e6, 4e6, 1e7, 1e5, 1e3])
    best = usual[np.argmin(np.abs(np.log(usual / max(period, 1.0))))]
    return int(best) if 2 / 3 < period / best < 1.5 else None  # a queue that grows stretches it


def _tick_of_echoes(value: Ints, asked: Ints) -> int | None:
    """Return the period from the times of the packets that segments echo: these pass the queue the other way."""
    known = (value != NEVER) & (asked != NEVER)
    return _tick(asked[known], value[known]) if known.sum() > 1 else None
