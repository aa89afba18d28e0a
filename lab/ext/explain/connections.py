"""List the TCP connections of a capture in one pass, and collect the packets of chosen ones in another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from lab.ext.explain.frames import MixedPackets
from lab.metric.arrays import Ints, np
from lab.metric.options import Options
from lab.metric.packets import ACK, SYN, Flow

MOST_CONNECTIONS = 500_000  # that are listed; a scan of ports can have any number
ROWS = 1 << 21  # packets of a connection that are analysed at a time
_KEPT = 3 * ROWS  # packets of all connections in memory


@dataclass
class FoundWay:
    """Holds what the first pass finds in one direction of a connection."""

    packets: int = 0
    payload: int = 0
    syn: Options | None = None
    syn_acks: bool = False  # whether this SYN acknowledges: the server's
    isn: int | None = None


@dataclass
class FoundConnection:
    """Identifies a connection. `flow` is the direction of the first captured packet."""

    number: int  # from 1, in order of first appearance
    key: int
    flow: Flow
    turned: bool  # whether `flow` is the direction in which `MixedPackets.way` is True
    first_ns: int
    last_ns: int
    ways: tuple[FoundWay, FoundWay] = field(
        default_factory=lambda: (FoundWay(), FoundWay())
    )  # of `MixedPackets.way` False and True

    @property
    def payload(self) -> int:
        """Return the bytes of payload in both directions, including what was sent again."""
        return self.ways[0].payload + self.ways[1].payload

    @property
    def forward(self) -> int:
        """Return the index of the way that carries more payload; the opener's, if none is carried."""
        one, other = (way.payload for way in self.ways)
        return int(other > one if one != other else self.turned)

    @property
    def sender(self) -> Flow:
        """Return the direction that carries more payload."""
        return self.flow if self.forward == int(self.turned) else self.flow.reverse


class Listing(NamedTuple):
    """Holds the connections of a capture, and the number of packets that belong to none."""

    connections: list[FoundConnection]
    packets: int
    others: int
    omitted: int  # packets of connections beyond `MOST_CONNECTIONS`


def listing(batches: Iterable[MixedPackets]) -> Listing:
    """Return all TCP connections of a capture."""
    known: dict[int, FoundConnection] = {}
    packets = others = omitted = 0
    for frames in batches:
        tcp = np.flatnonzero(frames.tcp)
        packets, others = packets + len(frames), others + len(frames) - len(tcp)
        if not len(tcp):
            continue
        keys, firsts, inverse = np.unique(frames.pair[tcp], return_index=True, return_inverse=True)
        times, ways, flags = frames.time_ns[tcp], frames.way[tcp], frames.flags[tcp]
        low, high = np.full(len(keys), np.iinfo(np.int64).max), np.full(len(keys), np.iinfo(np.int64).min)
        np.minimum.at(low, inverse, times)
        np.maximum.at(high, inverse, times)
        side = inverse * 2 + ways
        counts = np.bincount(side, minlength=2 * len(keys)).reshape(-1, 2)
        payload = np.bincount(side, frames.payload[tcp], minlength=2 * len(keys)).reshape(-1, 2)
        for index in np.argsort(firsts, kind="stable").tolist():
            key, packet = int(keys[index]), int(tcp[firsts[index]])
            found = known.get(key)
            if found is None:
                flow = frames.flow(packet)
                if flow is None or len(known) >= MOST_CONNECTIONS:
                    omitted += int(counts[index].sum())
                    continue
                turned = bool(frames.way[packet])
                found = FoundConnection(len(known) + 1, key, flow, turned, int(low[index]), int(high[index]))
                known[key] = found
            found.first_ns, found.last_ns = min(found.first_ns, int(low[index])), max(found.last_ns, int(high[index]))
            for number, way in enumerate(found.ways):
                way.packets += int(counts[index, number])
                way.payload += int(payload[index, number])
        for at in np.flatnonzero(flags & SYN).tolist():
            found = known.get(int(keys[inverse[at]]))
            if found is None:
                continue
            way = found.ways[int(ways[at])]
            if way.syn is None:
                way.syn, way.isn = frames.options(int(tcp[at])), int(frames.seq[tcp[at]])
                way.syn_acks = bool(flags[at] & ACK)
    return Listing(list(known.values()), packets, others, omitted)


@dataclass(frozen=True)
class Rows:
    """Holds packets of one connection in columns, in order of time. `forward` marks the direction with more payload."""

    packet: Ints  # number in the capture, from 1
    time_ns: Ints
    forward: Ints
    seq: Ints
    ack: Ints
    flags: Ints
    window: Ints  # as sent
    payload: Ints
    stamped: Ints
    ts_value: Ints
    ts_echo: Ints
    sack_left: Ints  # of the first block
    sack_right: Ints
    tls: Ints  # the content type of a TLS record that begins the payload, or 0

    def __getitem__(self, which: Ints) -> Rows:
        """Return some of the rows."""
        return Rows(*(column[which] for column in self.columns()))

    def __len__(self) -> int:
        return len(self.packet)

    def columns(self) -> tuple[Ints, ...]:
        """Return all columns."""
        return tuple(getattr(self, each.name) for each in fields(self))

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """Return these rows together, in order of time."""
        every = cls(*(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True)))
        if (np.diff(every.time_ns) < 0).any():  # several interfaces, or a clock that was set
            return every[np.argsort(every.time_ns, kind="stable")]
        return every


def collected(
    batches: Iterable[MixedPackets], chosen: Iterable[FoundConnection]
) -> Iterator[tuple[FoundConnection, Rows, bool]]:
    """Yield the packets of the chosen connections, at most about `ROWS` at a time.

    The last value is True with the last packets of a connection.
    """
    by_key = {each.key: each for each in chosen}
    keys = np.array(sorted(by_key), np.uint64)
    parts: dict[int, list[Rows]] = {key: [] for key in by_key}
    sizes = dict.fromkeys(by_key, 0)
    first = 1
    for frames in batches:
        count = len(frames)
        pair = frames.pair
        place = np.minimum(np.searchsorted(keys, pair), len(keys) - 1) if len(keys) else np.zeros(count, np.int64)
        own = frames.tcp & (keys[place] == pair) if len(keys) else np.zeros(count, bool)
        rows = np.flatnonzero(own)
        if len(rows):
            every = _rows(frames, rows, first)
            order = np.argsort(place[rows], kind="stable")
            places, starts = np.unique(place[rows][order], return_index=True)
            for which, index in zip(places.tolist(), np.split(order, starts[1:]), strict=True):
                key = int(keys[which])
                part = every[index]
                turned = by_key[key].forward
                parts[key].append(replace(part, forward=part.forward == turned))
                sizes[key] += len(index)
        first += count
        largest = max(sizes, key=lambda key: sizes[key], default=None)
        while largest is not None and (sizes[largest] >= ROWS or sum(sizes.values()) >= _KEPT):
            yield by_key[largest], Rows.joined(parts[largest]), False
            parts[largest], sizes[largest] = [], 0
            largest = max(sizes, key=lambda key: sizes[key])
    for key, each in by_key.items():
        if parts[key]:
            yield each, Rows.joined(parts.pop(key)), True


def _rows(frames: MixedPackets, rows: Ints, first: int) -> Rows:
    left, right = frames.sack_block()
    return Rows(
        packet=rows + first,
        time_ns=frames.time_ns[rows],
        forward=frames.way[rows],
        seq=frames.seq[rows],
        ack=frames.ack[rows],
        flags=frames.flags[rows].astype(np.uint8),
        window=frames.window[rows].astype(np.uint16),
        payload=frames.payload[rows].astype(np.int32),
        stamped=frames.timestamped[rows],
        ts_value=frames.ts_value[rows].astype(np.uint32),
        ts_echo=frames.ts_echo[rows].astype(np.uint32),
        sack_left=left[rows],
        sack_right=right[rows],
        tls=frames.tls[rows],
    )
