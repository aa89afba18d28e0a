"""Read the packets of any link type into columns, and give both directions of a connection one number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from mmap import mmap

from lab.metric.arrays import Bools, Ints, np
from lab.metric.packets import Packets
from lab.metric.pcap import RECORD

ETHERNET, NULL, LOOP, SLL, SLL2 = 1, 0, 108, 113, 276  # https://www.tcpdump.org/linktypes.html
RAW = (12, 14, 101, 228, 229)
READABLE = (ETHERNET, NULL, LOOP, SLL, SLL2, *RAW)

_SALT = 0x2545F4914F6CDD1D  # so that the hash of zeros is not zero
_TLS = (20, 21, 22, 23)  # content types: RFC 8446 5.1


@dataclass(frozen=True)
class CaptureInterface:
    """Describes an interface of a capture: its link type, and the unit and origin of its times."""

    link: int = ETHERNET
    per_second: int = 1_000_000  # ticks
    offset: int = 0  # seconds


class MixedPackets(Packets):
    """Gives columns of packets whose interfaces differ in link type and in the unit of times.

    The last 16 bytes before each frame hold four words: in pcap, seconds, fraction, captured and original length; in
    pcapng, the two halves of a count of ticks instead of seconds and fraction. `interfaces` has one entry for pcap.
    `numbers` are the packets' indices into it, or None.
    """

    def __init__(
        self,
        data: mmap,
        order: str,
        fraction: int,
        records: Ints,
        interfaces: tuple[CaptureInterface, ...],
        numbers: Ints | None = None,
    ) -> None:
        super().__init__(data, order, fraction, records)
        self._interfaces, self._numbers = interfaces, numbers

    @cached_property
    def time_ns(self) -> Ints:
        """Return the capture time in nanoseconds since the epoch."""
        if self._numbers is None:
            return super().time_ns
        high, low = (self._head[name].astype(np.uint64) for name in ("seconds", "fraction"))
        ticks = high << np.uint64(32) | low
        found = np.zeros(len(self), np.int64)
        for number, each in enumerate(self._interfaces):
            own = self._numbers == number
            unit = np.uint64(each.per_second)
            part = (ticks[own] % unit).astype(np.float64) * (1e9 / each.per_second)
            found[own] = (ticks[own] // unit).astype(np.int64) * 10**9 + np.rint(part).astype(np.int64)
            found[own] += each.offset * 10**9
        return found

    @cached_property
    def pair(self) -> Ints:
        """Return a number for the packet's connection: addresses and ports of both ends, hashed to 64 bits."""
        one, other = self._ends_hashed
        return _mixed(np.minimum(one, other), np.maximum(one, other))

    @cached_property
    def way(self) -> Bools:
        """Return which of the connection's two directions each packet has."""
        one, other = self._ends_hashed
        found: Bools = one > other
        return found

    @cached_property
    def tls(self) -> Ints:
        """Return the content type of the TLS record that begins the payload, or 0."""
        at = self._layers.transport + self.header_length
        head = self._gather(">u4", at).astype(np.int64)
        kind, version = head >> 24, head >> 8 & 0xFFFF
        holds = self.tcp & (self.payload >= 5) & (at + 5 <= self._ends)
        return np.where(holds & np.isin(kind, _TLS) & (version >= 0x301) & (version <= 0x304), kind, 0).astype(np.uint8)

    def sack_block(self) -> tuple[Ints, Ints]:
        """Return the left and right edge of each packet's first SACK block, as sent. Both are 0 without a block."""
        at = self._layers.transport + np.where(self.timestamped, 36, 24)
        holds = self.sack & (at + 8 <= self._ends)
        left, right = (self._gather(">u4", at + step).astype(np.uint32) * holds for step in (0, 4))
        return left, right

    @cached_property
    def _ends_hashed(self) -> tuple[Ints, Ints]:
        """Return a hash of either end's address and port."""
        version, network = self.version, self._layers.network
        ends = []
        for four, six, port in ((12, (8, 16), self.source_port), (16, (24, 32), self.destination_port)):
            key = _mixed(
                version.astype(np.uint64) << np.uint64(16) | port.astype(np.uint64),
                np.full(len(self), _SALT, np.uint64),
            )
            key = _mixed(key, np.where(version == 4, self._gather(">u4", network + four), 0))
            for at in six if (version == 6).any() else ():
                own = version == 6
                key[own] = _mixed(key[own], self._gather(">u8", network + at)[own])
            ends.append(key)
        return ends[0], ends[1]

    def _network(self) -> tuple[Ints, Ints]:
        kind, network = np.zeros(len(self), np.int64), self._records + RECORD
        links = np.array([each.link for each in self._interfaces], np.int64)
        link = links[0 if self._numbers is None else self._numbers] if len(links) else np.full(len(self), -1)
        for each in np.unique(link).tolist() if np.ndim(link) else [int(link)]:
            own = np.broadcast_to(link == each, len(self))
            here = self._records + RECORD
            if each in (ETHERNET, SLL, SLL2):
                word, size = {ETHERNET: (12, 14), SLL: (14, 16), SLL2: (0, 20)}[each]
                found, here = self._past_tags(self._gather(">u2", here + word).astype(np.int64), here + size)
            elif each in READABLE:
                here = here + (4 if each in (NULL, LOOP) else 0)
                version = self._gather("u1", here) >> 4
                found = np.where(version == 4, 0x0800, np.where(version == 6, 0x86DD, 0))
            else:
                continue
            kind, network = np.where(own, found, kind), np.where(own, here, network)
        return kind, network


def _mixed(key: Ints, word: Ints) -> Ints:
    """Mix `word` into `key`, with the finalizer of SplitMix64."""
    key = key ^ (word.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    key = (key ^ key >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ key >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: Ints = key ^ key >> np.uint64(31)
    return mixed
