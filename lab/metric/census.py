"""List the flows of a capture in one pass, with the first sequence numbers of each flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lab.metric.arrays import Bools, Ints, np
from lab.metric.options import Options
from lab.metric.packets import ACK, SYN, Flow, Packets


@dataclass(frozen=True, slots=True)
class Census:
    """Holds the distinct flows of a capture, in order of first appearance, and properties of the TCP flows."""

    flows: tuple[Flow, ...]
    keys: tuple[int, ...]  # the `key` of each flow's packets
    known: dict[int, int]  # key -> index into `flows`; -1 for packets without a flow
    carried: Ints  # bytes of each flow's TCP payload
    first_seq: dict[int, int]  # index -> the first sequence number, as sent
    first_ack: dict[int, int]  # index -> the first acknowledgement number, as sent
    syns: dict[int, Options]  # index -> the options of the first SYN

    @classmethod
    def of(cls, blocks: Iterable[Packets]) -> Census:
        """Return the census of these packets, in one pass."""
        taken = _Taken()
        for packets in blocks:
            taken.count(packets)
        flows, keys = tuple(taken.flows), tuple(taken.keys)
        return cls(flows, keys, taken.known, taken.carried, taken.first_seq, taken.first_ack, taken.syns)

    def number(self, flow: Flow) -> int | None:
        """Return a flow's index, or None if there is no such flow."""
        return self.flows.index(flow) if flow in self.flows else None

    def syn(self, flow: Flow) -> Options | None:
        """Return the options of a flow's first SYN, or None if there is no SYN."""
        number = self.number(flow)
        return None if number is None else self.syns.get(number)

    def numbers(self, packets: Packets) -> Ints:
        """Return each packet's index into `flows`, or -1 without IP."""
        keys, inverse = np.unique(packets.key, return_inverse=True)
        return np.array([self.known[key] for key in keys.tolist()], np.int32)[inverse]


class _Taken:
    """Collects a census, block by block."""

    def __init__(self) -> None:
        self.flows: list[Flow] = []
        self.keys: list[int] = []
        self.known: dict[int, int] = {}
        self.carried: Ints = np.zeros(0, np.int64)
        self.first_seq: dict[int, int] = {}
        self.first_ack: dict[int, int] = {}
        self.syns: dict[int, Options] = {}

    def count(self, packets: Packets) -> None:
        """Add a block of packets."""
        number = self._numbers(packets)
        self.carried = np.pad(self.carried, (0, len(self.flows) - len(self.carried)))
        tcp = packets.tcp
        payload = packets.payload[tcp]
        self.carried += np.bincount(number[tcp], weights=payload, minlength=len(self.flows)).astype(np.int64)
        for flow, packet in self._firsts(number, tcp, self.first_seq):
            self.first_seq[flow] = int(packets.seq[packet])
        flags = packets.flags
        for flow, packet in self._firsts(number, tcp & (flags & ACK > 0), self.first_ack):
            self.first_ack[flow] = int(packets.ack[packet])
        for flow, packet in self._firsts(number, tcp & (flags & SYN > 0), self.syns):
            self.syns[flow] = packets.options(packet)

    def _numbers(self, packets: Packets) -> Ints:
        keys, firsts, inverse = np.unique(packets.key, return_index=True, return_inverse=True)
        found = dict(zip(firsts.tolist(), keys.tolist(), strict=True))
        for first in sorted(first for first, key in found.items() if key not in self.known):
            flow = packets.flow(first)
            self.known[found[first]] = len(self.flows) if flow else -1
            if flow:
                self.flows.append(flow)
                self.keys.append(found[first])
        return np.array([self.known[key] for key in keys.tolist()], np.int32)[inverse]

    def _firsts(self, number: Ints, where: Bools, seen: Mapping[int, object]) -> list[tuple[int, int]]:
        """Return each flow that is not in `seen`, with its first packet in `where`."""
        new = np.ones(len(self.flows) + 1, bool)
        new[[*seen]] = False
        rows = np.flatnonzero(where & new[number])
        flows, firsts = np.unique(number[rows], return_index=True)
        return list(zip(flows.tolist(), rows[firsts].tolist(), strict=True))
