"""Explain the connections of a capture: two passes over the file, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lab.errors import InputError
from lab.ext.explain.connections import ROWS, FoundConnection, Listing, Rows, collected, listing
from lab.ext.explain.exchange import NEVER, SegmentsAndAcks, State, exchange, unseen
from lab.ext.explain.gaps import Pieces, Why, before_first, nagle_waits, pieces
from lab.ext.explain.labels import Sight, Stretch, labels, stretches
from lab.ext.explain.limits import (
    EXPLAINED,
    LARGEST,
    LEAST,
    MOST_ROUNDS,
    NEAR,
    SHORTEST_ROUND_NS,
    TIMEOUT_NS,
    USUAL,
    Limit,
)
from lab.ext.explain.opening import opened
from lab.ext.explain.place import Place, capacity, place
from lab.ext.explain.reading import Reading
from lab.ext.explain.rounds import Rounds
from lab.ext.explain.view import SenderView, sender_view
from lab.metric.arrays import np
from lab.metric.packets import Flow
from lab.report.wording import percents, plural


@dataclass(frozen=True)
class Facts:
    """Holds what a capture shows of a connection as a whole. Unknown values are None."""

    where: Place
    mss: int  # bytes of payload in a full segment
    mss_options: tuple[int | None, int | None]  # of sender and receiver
    scales: tuple[int | None, int | None]
    sack: bool
    timestamps: bool
    initial_window: int | None  # bytes that left before the first ACK of data, if the sender had more
    delayed_nagle: int  # segments that waited for a delayed ACK
    missing: str  # what the capture lacks, or ""


@dataclass(frozen=True)
class Explanation:
    """Explains one connection in the direction that carries more payload."""

    number: int
    sender: Flow
    start: int  # ns since the epoch
    end: int
    payload: tuple[int, int]  # bytes of the sender and of the other end, including what was sent again
    packets: int
    facts: Facts | None  # None if the connection was not analysed
    stretches: tuple[Stretch, ...]

    @property
    def shares(self) -> dict[Limit, float]:
        """Return the share of time of each limit, the largest first. They add up to one."""
        total = sum(each.end - each.start for each in self.stretches)
        spent: dict[Limit, int] = {}
        for each in self.stretches:
            spent[each.limit] = spent.get(each.limit, 0) + each.end - each.start
        return {limit: time / total for limit, time in sorted(spent.items(), key=lambda item: -item[1])}

    @property
    def percents(self) -> dict[Limit, int]:
        """Return the shares in per cent, rounded so that they add up to 100."""
        return dict(zip(self.shares, percents(self.shares.values()), strict=True))


@dataclass(frozen=True)
class Explained:
    """Holds the explanations of a capture, in the order of the connections' numbers."""

    file: str
    packets: int
    others: int  # packets that are not TCP
    all: int  # TCP connections of the capture
    connections: tuple[Explanation, ...]  # all of them, or the chosen one
    remarks: tuple[str, ...]

    @property
    def counted(self) -> str:
        """Return how many TCP connections the capture has, and which one is shown if the others are not."""
        said = plural(self.all, "TCP connection")
        return (
            f"{said}, of which this is number {self.connections[0].number}"
            if len(self.connections) < self.all
            else said
        )


def explain(file: Path, flow: int | None = None) -> Explained:
    """Return what limited the connections of a capture; with `flow`, only of the connection with that number.

    Raises InputError if the file is no capture or has no such connection.
    """
    with opened(file) as capture:
        reading = Reading(capture.data, str(file))
        found = listing(reading.batches())
        remarks = [capture.remark] if capture.remark else []
        remarks += reading.remarks
        if found.omitted:
            remarks.append(f"{found.omitted:,} packets of further connections were left out")
        chosen = _chosen(found, flow, file)
        done = dict(_analysed(reading, chosen))
        every = tuple(done.get(each.number) or _listed(each) for each in (chosen if flow else found.connections))
        return Explained(str(file), found.packets, found.others, len(found.connections), every, tuple(remarks))


@dataclass(frozen=True)
class Closely:
    """Holds a connection with its explanation and its packets."""

    explanation: Explanation
    connection: FoundConnection
    rows: Rows
    found: SegmentsAndAcks
    view: SenderView


def look_closely(file: Path, flow: int | None = None) -> Closely:
    """Return one connection with its packets: the one with this number; default: the one with the most payload.

    Raises InputError if the file is no capture, has no such connection or none with data, and if the connection has
    too many packets to be looked at as a whole.
    """
    with opened(file) as capture:
        reading = Reading(capture.data, str(file))
        found = listing(reading.batches())
        chosen = _chosen(found, flow, file)
        if not any(each.payload for each in chosen):
            raise InputError(f"{file}: no TCP connection with data; name a capture of a transfer")
        one = max(chosen, key=lambda each: each.payload)
        if _packets(one) >= ROWS:
            raise InputError(
                f"{file}: connection {one.number} has {_packets(one):,} packets; cut the capture to fewer than {ROWS:,}"
            )
        [(_, rows, _)] = collected(reading.batches(), [one])
        following = _Following(one)
        packets, view = following.add(rows)
        return Closely(following.explanation(), one, rows, packets, view)


def _chosen(found: Listing, flow: int | None, file: Path) -> list[FoundConnection]:
    if flow is None:
        carrying = [each for each in found.connections if each.payload]
        return sorted(sorted(carrying, key=lambda each: -each.payload)[:EXPLAINED], key=lambda each: each.number)
    if not 1 <= flow <= len(found.connections):
        raise InputError(f"{file}: no connection {flow}; the capture has {len(found.connections):,}")
    return [found.connections[flow - 1]]


def _listed(found: FoundConnection) -> Explanation:
    return Explanation(
        found.number, found.sender, found.first_ns, found.last_ns, _payload(found), _packets(found), None, ()
    )


def _payload(found: FoundConnection) -> tuple[int, int]:
    ahead = found.ways[found.forward].payload
    return ahead, found.payload - ahead


def _packets(found: FoundConnection) -> int:
    return found.ways[0].packets + found.ways[1].packets


def _analysed(reading: Reading, chosen: list[FoundConnection]) -> Iterator[tuple[int, Explanation]]:
    following: dict[int, _Following] = {}
    for connection, rows, last in collected(reading.batches(), chosen):
        follow = following.setdefault(connection.number, _Following(connection))
        follow.add(rows)
        if last:
            yield connection.number, following.pop(connection.number).explanation()
    for number, follow in following.items():
        yield number, follow.explanation()


class _Following:
    """Follows a connection through the capture, batch by batch."""

    def __init__(self, connection: FoundConnection) -> None:
        self._connection = connection
        ahead, back = connection.ways[connection.forward], connection.ways[1 - connection.forward]
        self._options = ahead.syn, back.syn
        both = ahead.syn is not None and back.syn is not None
        scaled = both and ahead.syn and ahead.syn.window_scale is not None
        shift = min((back.syn and back.syn.window_scale) or 0, 14) if scaled else 0
        self._shift = shift if both else None
        self._state: State | None = None
        self._rounds: Rounds | None = None
        self._sight: Sight | None = None
        self._initial: int | None = None
        self._stamped = False
        self._delayed = 0
        self._last: tuple[int, int] | None = None  # the time and the number of the last segment
        self._passed = 0  # when the last segment passed the capture
        self._end = 0  # the highest number of payload
        self._unseen = 0  # bytes

    def add(self, rows: Rows) -> tuple[SegmentsAndAcks, SenderView]:
        """Add the next packets of the connection, and return them in the sender's view."""
        if self._state is None:
            self._state = State.of(self._origin(rows))
        found = exchange(rows, self._state, self._shift)
        self._stamped |= bool(rows.stamped.any())
        if self._sight is None or self._rounds is None:
            where = place(rows, found, self._connection)
            seen = bool(len(found.ack)), bool(len(found.time)), self._shift is not None
            mss = self._mss(found)
            self._sight = Sight(where, mss, *seen, capacity(found, where, mss), full_arrived=False)
            self._rounds = self._new_rounds()
        sight, rounds = self._sight, self._rounds
        found = replace(found, rtt=sight.where.rtt or 0)
        view = sender_view(found, sight.where, self._state.tick, sight.mss)
        if self._initial is None and not self._last and all(self._options):
            self._initial = _initial_window(found, view, sight.mss)
        parts = pieces(found, view, sight.mss, sight.where.rtt or SHORTEST_ROUND_NS, sight.capacity)
        self._delayed += nagle_waits(parts)
        if len(found.time):
            begun = self._connection.ways[self._connection.forward].isn is not None
            self._unseen += unseen(found, self._end or (1 if begun else int(found.seq.min())))
        if self._last and len(view.left) and view.left[0] > self._last[0]:  # between two batches
            rounds.spend(_one(self._last[0], int(view.left[0]), Why.BURST, self._last[1]))
        elif not self._last and len(view.left):
            opened = any(each.syn for each in self._connection.ways)
            rounds.spend(before_first(found, view, self._connection.first_ns, opened))
        rounds.spend(parts)
        rounds.near |= view.near
        delay = 0 if sight.where.name == "sender" else sight.where.behind or 0
        rounds.add(found, view, sight.mss, delay, sight.where.beyond or 0, sight.capacity)
        if len(view.left):
            self._last = int(view.left[-1]), int(found.packet[view.order[-1]])
            self._passed = int(found.time[-1])
            self._end = max(self._end, int(found.end.max()))
        full = (found.end - found.seq >= sight.mss) & (found.end <= self._state.acked)
        if full.any():
            self._sight = replace(sight, full_arrived=True)
        return found, view

    def explanation(self) -> Explanation:
        """Return the explanation, after the last packets."""
        each = self._connection
        assert self._sight is not None
        assert self._rounds is not None
        self._rounds.finish()
        if self._last:
            lost = self._state is not None and self._sight.acks and self._end > self._state.acked
            why = Why.TIMER if lost and each.last_ns - self._passed >= TIMEOUT_NS else Why.AFTER
            self._rounds.spend(_one(self._last[0], each.last_ns, why, self._last[1]))
        limits = labels(self._rounds, self._sight)
        parts = stretches(self._rounds, limits, self._sight.where, each.first_ns, max(each.last_ns, each.first_ns + 1))
        return Explanation(
            *(each.number, each.sender, each.first_ns, each.last_ns, _payload(each), _packets(each)),
            self._facts(any(each is Limit.UNKNOWN for each in limits)),
            tuple(parts),
        )

    def _facts(self, doubtful: bool) -> Facts:
        assert self._sight
        ahead, back = self._options
        return Facts(
            where=self._sight.where,
            mss=self._sight.mss,
            mss_options=(ahead.mss if ahead else None, back.mss if back else None),
            scales=(ahead.window_scale if ahead else None, back.window_scale if back else None),
            sack=bool(ahead and back and ahead.sack_permitted and back.sack_permitted),
            timestamps=self._stamped,
            initial_window=self._initial,
            delayed_nagle=self._delayed,
            missing=self._missing(doubtful),
        )

    def _missing(self, doubtful: bool) -> str:
        assert self._sight
        lost = f"{self._unseen:,} bytes that ACKs acknowledge: the capture lost packets" if self._unseen else ""
        return "; ".join(filter(None, [self._sight.doubt if doubtful else "", lost]))

    def _origin(self, rows: Rows) -> int:
        isn = self._connection.ways[self._connection.forward].isn
        if isn is not None:
            return isn
        ahead = rows.forward.astype(bool)
        first = np.flatnonzero(ahead)
        return int(rows.seq[first[0]] if len(first) else rows.ack[0])

    def _mss(self, found: SegmentsAndAcks) -> int:
        """Return the payload of a full segment: the largest size of two segments in a row, up to the handshake's."""
        asked = [each.mss for each in self._options if each and each.mss]
        most = max(min(asked) - (12 if self._stamped else 0), 1) if len(asked) == 2 else 0
        size = found.end - found.seq
        rows = (size[1:] == size[:-1]) & (found.seq[1:] == found.end[:-1]) & (size[1:] <= (most or LARGEST))
        largest = int(size[1:][rows].max()) if rows.any() else 0
        return largest if largest >= (NEAR * most if most else LEAST) else most or USUAL

    def _new_rounds(self) -> Rounds:
        start, end = self._connection.first_ns, self._connection.last_ns
        length = max(SHORTEST_ROUND_NS, (end - start) // MOST_ROUNDS + 1)
        return Rounds.empty(start, length, (end - start) // length + 1)


def _one(start: int, end: int, why: Why, packet: int) -> Pieces:
    return Pieces(*(np.array([each], np.int64) for each in (start, max(end, start), why, packet)))


def _initial_window(found: SegmentsAndAcks, view: SenderView, mss: int) -> int | None:
    """Return the bytes that the sender sent before it knew the first ACK of data.

    None if the sender may have had no more: the last of these segments is not full. None away from the sender without
    timestamps, too: segments that the first ACK released may have come sooner than the least known round trip.
    """
    if not len(found.time) or not (view.exact or (found.queued != NEVER).any()):
        return None
    answer = np.flatnonzero(found.ack > found.seq.min())
    before = view.order[view.known < answer[0]] if len(answer) else view.order[:0]
    if not len(before) or (found.end - found.seq)[before[-1]] % mss or found.again[before].any():
        return None
    return int(found.end[before].max() - found.seq[before].min())
