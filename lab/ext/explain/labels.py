"""Label each round of a connection with what limited it, and join rounds with the same label into stretches."""

from __future__ import annotations

from dataclasses import dataclass

from lab.ext.explain.exchange import NEVER
from lab.ext.explain.gaps import ACKED, Why
from lab.ext.explain.limits import (
    CLOCKED,
    FULL,
    GROWING,
    GROWTH,
    MOSTLY,
    REPEATS,
    SMOOTH,
    SPREAD,
    STANDING,
    STANDING_LEAST_NS,
    STUCK,
    TIMEOUT_NS,
    Limit,
)
from lab.ext.explain.place import Place
from lab.ext.explain.rounds import NONE, Rounds, recent, recent_sum
from lab.metric.arrays import Bools, Floats, Ints, np

_DIRECT = {  # reasons that need no further evidence
    Why.WINDOW: Limit.WINDOW,
    Why.CLOSED: Limit.ZERO_WINDOW,
    Why.IDLE: Limit.IDLE,
    Why.TURN: Limit.TURNS,
    Why.NAGLE: Limit.NAGLE,
    Why.TIMER: Limit.TIMEOUT,
    Why.SHAKE: Limit.HANDSHAKE,
    Why.AFTER: Limit.IDLE,
}
_NETWORK = (Why.BURST, *ACKED, Why.SPACED, Why.REPAIR, Why.EMPTY)


@dataclass(frozen=True)
class Stretch:
    """Describes a stretch of time with one limit. Times are in ns since the epoch."""

    start: int
    end: int
    limit: Limit
    packets: tuple[int, int] | None  # numbers in the capture of the first and the last segment
    flight: int  # most bytes in flight
    window: int  # largest advertised window in bytes
    delay: int | None  # median of the rounds' least round trips, in ns
    sent: int  # segments
    again: int  # of these, sent again
    acked: int  # bytes

    @property
    def seconds(self) -> float:
        """Return the length in seconds."""
        return (self.end - self.start) / 1e9

    @property
    def rate(self) -> float:
        """Return the acknowledged bytes per time, in bit/s."""
        return 8 * self.acked / self.seconds if self.end > self.start else 0.0


@dataclass(frozen=True)
class Sight:
    """Says what the capture shows of a connection."""

    where: Place
    mss: int
    acks: bool  # whether the ACKs were captured
    data: bool
    scaled: bool  # whether the window scale is known
    capacity: float  # bytes per second (`exchange.capacity`); 0 if unknown
    full_arrived: bool  # whether a full-sized segment was ever acknowledged

    def turn(self, rounds: Rounds) -> int:
        """Return the number of rounds in a round trip, at least 1."""
        return max(-(-(self.where.rtt or 0) // rounds.length), 1)

    @property
    def missing(self) -> str:
        """Return what is missing to tell all limits, or ""."""
        if not self.data:
            return "the data segments are not in the capture: capture both directions"
        if not self.acks:
            return "the ACKs are not in the capture: capture both directions"
        if self.where.name == "unknown":
            return f"{self.where.reason}: capture from the start, or with timestamps"
        if self.where.rtt is None:
            return "no round trip can be measured"
        return ""

    @property
    def doubt(self) -> str:
        """Return what is missing if some of the limits cannot be told."""
        return self.missing or "the window scale: capture from the start of the connection"


def labels(rounds: Rounds, sight: Sight) -> list[Limit]:
    """Return the limit of each round."""
    count = len(rounds)
    if sight.missing:
        return _certain(rounds, sight)
    spent = rounds.time
    network = spent[:, list(_NETWORK)].sum(axis=1)
    direct = np.stack([spent[:, why] for why in _DIRECT], 1)
    window = spent[:, Why.WINDOW] + spent[:, Why.CLOSED]
    kinds = list(_DIRECT.values())
    direct[:, 0] = np.where(spent[:, Why.CLOSED] <= spent[:, Why.WINDOW], window, 0)
    direct[:, 1] = np.where(spent[:, Why.CLOSED] > spent[:, Why.WINDOW], window, 0)
    best = direct.argmax(axis=1)
    seen = spent.sum(axis=1) > 0
    turn = sight.turn(rounds)
    paced = spent[:, Why.SPACED] > MOSTLY * network  # the kernel checks the timer before the window (tcp_write_xmit)
    full = (rounds.room < sight.mss) & (rounds.again == 0) & ~paced  # the window was full within the round
    roomy = spent[:, (Why.SPACED, Why.ROOMY, Why.HELD)].sum(axis=1) > MOSTLY * network
    filled = (-recent(-rounds.room, turn) < sight.mss) & (recent_sum(rounds.again, turn) == 0)  # within the round trip
    queue = standing(rounds, sight)
    inner = _network(rounds, sight, queue, _full(rounds, sight))
    inner = inner if sight.scaled else _unscaled(rounds, inner)
    blind = _blind(rounds, sight) and sight.scaled
    found: list[Limit] = []
    for row in range(count):
        if not seen[row]:
            found.append(found[-1] if found else Limit.HANDSHAKE)
        elif direct[row, best[row]] > network[row]:
            found.append(kinds[best[row]])
        elif (full[row] and inner[row] is not Limit.SEND_BUFFER) or (filled[row] and inner[row] is Limit.IDLE):
            steady = paced[row] or (roomy[row] and inner[row] in (Limit.IDLE, Limit.PACING, Limit.CWND))
            found.append(Limit.PACING if steady else Limit.WINDOW)  # a full window shows that there was data
        elif blind and rounds.cut[row] and inner[row] is Limit.RATE:
            found.append(Limit.WINDOW)  # if both hold, the kernel counts the window (tcp_write_xmit)
        else:
            found.append(inner[row])
    return _black_holes(found, rounds, sight)


def _certain(rounds: Rounds, sight: Sight) -> list[Limit]:
    """Return the limits that even an incomplete capture shows: a closed window, a pause, late retransmissions."""
    found = [Limit.UNKNOWN] * len(rounds)
    for why in (Why.CLOSED, Why.IDLE) if sight.data and sight.acks else (Why.TIMER,):
        for row in np.flatnonzero(rounds.time[:, why] > MOSTLY * rounds.length).tolist():
            found[row] = _DIRECT[why]
    return found


def _unscaled(rounds: Rounds, inner: list[Limit]) -> list[Limit]:
    """Return the limits without those that a receive window of unknown size may have caused."""
    lost = _lost(rounds)
    doubtful = (Limit.SEND_BUFFER, Limit.PACING)
    return [
        Limit.UNKNOWN if each in doubtful or (each is Limit.CWND and not after) else each
        for each, after in zip(inner, lost.tolist(), strict=True)
    ]


def standing(rounds: Rounds, sight: Sight) -> Bools:
    """Return in which rounds a queue stood at the bottleneck: the mean round trip is above the least by more than
    jitter.

    Without round trips, as at a receiver without timestamps, the bottleneck's rate has to be used in full.
    """
    waited = _filled(rounds.waits.mean(sight.turn(rounds)))
    if (waited == NONE).all():
        return _full(rounds, sight)
    found: Bools = (waited != NONE) & (waited >= max(STANDING * (sight.where.rtt or 0), STANDING_LEAST_NS))
    return found


def _full(rounds: Rounds, sight: Sight) -> Bools:
    """Return in which rounds the bottleneck's rate was used in full."""
    if not sight.capacity:
        return np.zeros(len(rounds), bool)
    passed = rounds.arrived
    if sight.where.name == "sender":
        passed = np.diff(rounds.reached, prepend=rounds.reached[:1])
        passed = np.where(rounds.reached == NEVER, 0, np.minimum(passed, 1 << 62))
    enough = SMOOTH * sight.mss / (sight.capacity * rounds.length / 1e9)
    span = max(sight.turn(rounds), min(int(enough) + 1, len(rounds)))
    full: Bools = recent_sum(passed, span) >= FULL * sight.capacity * span * rounds.length / 1e9
    return full


def _filled(delay: Ints) -> Ints:
    """Return the delays, with the one before for rounds without one."""
    at = np.maximum.accumulate(np.where(delay != NONE, np.arange(len(delay)), -1)) if len(delay) else delay
    return np.where(at >= 0, delay[np.maximum(at, 0)], NONE)


def _network(rounds: Rounds, sight: Sight, queue: Bools, full: Bools) -> list[Limit]:
    """Return the limit of each round in which the sender had data, and the receiver had room."""
    count, turn = len(rounds), sight.turn(rounds)
    flight, spent = recent(rounds.flight, turn), recent_sum(rounds.time, turn)
    begins = _restarts(rounds.flight, rounds.length, sight.where.rtt or 0)
    most = np.concatenate([np.maximum.accumulate(part) for part in np.split(flight, begins)])
    earlier = np.concatenate((np.zeros(turn, np.int64), most))[:count]
    lost = _lost(rounds)
    anew = np.concatenate([part - part[:1] > 0 for part in np.split(np.cumsum(_losses(rounds)), begins)])
    growing = (flight >= GROWING * earlier) & (earlier > 0) & ~anew
    growing |= recent(growing[::-1], turn + 1)[::-1] & ~anew  # the round trip from which it grew
    for begin in (int(np.argmax(flight > 0)) if (flight > 0).any() else 0, *begins.tolist()):
        growing[begin : begin + turn] |= ~anew[begin : begin + turn]
    own = rounds.time
    empty = own[:, Why.EMPTY] > np.maximum(own[:, (*ACKED, Why.REPAIR)].sum(axis=1), own[:, Why.SPACED])
    around = _around(own, GROWTH * turn)
    blind = _blind(rounds, sight)
    idle, whole = around[:, Why.IDLE], around.sum(axis=1)
    filled = around[:, Why.EMPTY] > np.maximum(idle, (1 - FULL if blind else SPREAD) * whole)
    large = (2 * rounds.unclocked > rounds.arrived) | (full & _emptied(rounds))
    passing = own[:, Why.BURST] > MOSTLY * own.sum(axis=1)  # one behind the other
    written = blind & passing & ((large & (idle <= (1 - FULL) * whole)) | (full & filled))
    busy = spent[:, list(_NETWORK)].sum(axis=1)
    spaced = spent[:, Why.SPACED] > SPREAD * busy
    clocked = (spent[:, ACKED].sum(axis=1) > CLOCKED * busy) & rounds.near
    steady = _steady(rounds.flight, turn, sight.mss)
    clocked &= ~steady
    spread = spent[:, Why.SPACED] + spent[:, Why.ROOMY] * rounds.near  # by chance, ACKs are near
    spread = (spread > MOSTLY * (busy + spent[:, Why.IDLE])) & steady
    crowded = spent[:, Why.BURST] > MOSTLY * busy
    held = spent[:, Why.HELD] > MOSTLY * busy
    again, short, spurious = (recent_sum(each, turn) for each in (rounds.again, rounds.short, rounds.spurious))
    spurious = spurious * 2 > np.maximum(again, 1)
    found = []
    for row in range(count):
        if spurious[row] and again[row]:
            found.append(Limit.REORDERING)
        elif (empty[row] or written[row]) and not again[row]:
            found.append(Limit.SEND_BUFFER)
        elif queue[row]:
            found.append(Limit.RATE)
        elif growing[row]:
            found.append(Limit.SLOW_START)
        elif spaced[row] and not lost[row] and not short[row]:
            found.append(Limit.RATE if full[row] else Limit.PACING)
        elif held[row] and not lost[row]:
            found.append(Limit.RATE if full[row] else Limit.PACING if steady[row] else Limit.CWND)
        elif spread[row] and not lost[row] and not short[row] and not full[row]:
            found.append(Limit.PACING)
        elif not lost[row] and not clocked[row] and ((short[row] and not crowded[row]) or not full[row]):
            # a window that is in use grows; ACKs were near, but released nothing
            found.append(Limit.SEND_BUFFER if filled[row] else Limit.IDLE)
        else:
            found.append(Limit.RATE if full[row] else Limit.CWND)
    return found


def _blind(rounds: Rounds, sight: Sight) -> bool:
    """Return whether only gaps show when segments left: at the receiver without timestamps."""
    return sight.where.name == "receiver" and not rounds.queued.count.any()


def _emptied(rounds: Rounds) -> Bools:
    """Return in which rounds small segments show that nothing was left to send, again and again.

    In a queue, the end of a write would have waited, and become part of a full segment (tcp_sendmsg_locked adds to the
    last segment that was not sent). So a congestion window had room, and keeps it until a loss.
    """
    found = np.zeros(len(rounds), bool)
    at = np.flatnonzero(rounds.tails)[:-1]  # the last one ends the transfer
    losses = np.cumsum(_losses(rounds))
    if len(at) > REPEATS:
        apart = np.diff(at)
        joined = (losses[at[1:]] == losses[at[:-1]]) & (apart <= REPEATS * np.median(apart))
        for one, other in zip(at[:-1][joined].tolist(), at[1:][joined].tolist(), strict=True):
            found[one : other + 1] = True
    return found


def _around(column: Floats, span: int) -> Floats:
    """Return the sum of the rounds from `span` before to `span` after each."""
    total = np.concatenate((np.zeros((1, *column.shape[1:])), np.cumsum(column, axis=0)))
    at = np.arange(len(column))
    found: Floats = total[np.minimum(at + span + 1, len(column))] - total[np.maximum(at - span, 0)]
    return found


def _steady(flight: Ints, turn: int, mss: int) -> Bools:
    """Return in which rounds the flight did not grow by a segment in some round trips, as a window in use would.

    Reno adds a segment in each round trip, and CUBIC at least half of one (RFC 9438 4.3).
    """
    span = GROWTH * turn
    most = recent(flight, span)
    later = most[np.minimum(np.arange(len(flight)) + span, len(flight) - 1)] if len(flight) else most
    steady: Bools = later - most < mss
    return steady


def _lost(rounds: Rounds) -> Bools:
    """Return in which rounds a segment was lost, or had been lost before."""
    found: Bools = np.cumsum(_losses(rounds)) > 0
    return found


def _losses(rounds: Rounds) -> Ints:
    """Return how many signs of a loss each round has."""
    found: Ints = rounds.again + (rounds.repeats >= REPEATS)
    return found


def _restarts(flight: Ints, length: int, rtt: int) -> Ints:
    """Return the rounds in which the sender began again after a pause: in slow start, after a time-out's time (RFC 5681
    4.1).
    """
    used = np.flatnonzero(flight > 0)
    pauses = np.diff(used) > max(TIMEOUT_NS, 2 * rtt) // length + 1
    found: Ints = used[1:][pauses]
    return found


def _black_holes(found: list[Limit], rounds: Rounds, sight: Sight) -> list[Limit]:
    """Return the labels, with time-outs as a black hole if no full-sized segment ever arrived, but some were resent."""
    if sight.full_arrived or int(rounds.full_again.sum()) < STUCK or not (rounds.acked > 0).any():
        return found
    return [Limit.BLACK_HOLE if each is Limit.TIMEOUT else each for each in found]


def stretches(rounds: Rounds, limits: list[Limit], where: Place, start: int, end: int) -> list[Stretch]:
    """Return the stretches of a connection from `start` to `end`. They are contiguous."""
    delays = rounds.delay(where, 1)
    found: list[Stretch] = []
    low = 0
    for row in range(1, len(limits) + 1):
        if row < len(limits) and limits[row] is limits[low]:
            continue
        part = slice(low, row)
        one, other = max(start, int(rounds.edges[low])), min(end, int(rounds.edges[row]))
        one, other = (start if low == 0 else one), (end if row == len(limits) else other)
        numbers = rounds.first_packet[part]
        numbers = numbers[numbers != NONE]
        delay = delays[part][delays[part] != NONE]
        acked = _between(rounds.acked, low, row)
        if other > one:
            found.append(
                Stretch(
                    start=one,
                    end=other,
                    limit=limits[low],
                    packets=(int(numbers[0]), int(numbers[-1])) if len(numbers) else None,
                    flight=int(rounds.flight[part].max()),
                    window=int(rounds.window[part].max()),
                    delay=int(np.median(delay)) if len(delay) else None,
                    sent=int(rounds.sent[part].sum()),
                    again=int(rounds.again[part].sum()),
                    acked=acked,
                )
            )
        low = row
    return found


def _between(acked: Ints, low: int, high: int) -> int:
    """Return the bytes acknowledged in rounds `low` to `high`."""
    last = int(acked[high - 1])
    before = int(acked[low - 1]) if low else NEVER
    known = acked[acked != NEVER]
    if last == NEVER or not len(known):
        return 0
    return last - (before if before != NEVER else min(int(known[0]), last))
