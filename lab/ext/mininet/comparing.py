"""Compare what a script printed on Mininet's wires with what it printed on exact ones, line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from lab.ext.mininet import wires
from lab.ext.mininet.flows import LEAST_SEGMENTS, MeasuredFlow, flows
from lab.ext.mininet.networks import networks
from lab.ext.mininet.running import SAID, MininetRun
from lab.record.record import Record

# A number by itself, possibly with a unit. It is not part of a name, an address or a version.
_NUMBER = re.compile(r"(?<![\w.:-])-?[0-9]+(?:\.[0-9]+)?(?=%|[a-zA-Z]{1,8}\b|\b)(?!\w*[0-9])(?![.:][0-9])")


@dataclass(frozen=True)
class LinePair:
    """Holds one line of a script's output, on Mininet's wires and on exact ones; "" for a missing line."""

    mininet: str
    exact: str

    @property
    def rows(self) -> tuple[str, str, str]:
        """Return both lines with their numbers aligned, and a row with each number on exact wires as a share of
        Mininet's.

        The third row is empty if the lines have different words, or the same numbers.
        """
        words = _NUMBER.split(self.mininet)
        if words != _NUMBER.split(self.exact):
            return self.mininet, self.exact, ""
        rows = [words[0], words[0], " " * len(words[0])]
        for one, two, text in zip(_NUMBER.findall(self.mininet), _NUMBER.findall(self.exact), words[1:], strict=True):
            ratio = f"{float(two) / float(one):.2f}" if one != two and float(one) else ""
            width = max(map(len, (one, two, ratio)))
            rows = [row + each.rjust(width) for row, each in zip(rows, (one, two, ratio), strict=True)]
            rows = [rows[0] + text, rows[1] + text, rows[2] + " " * len(text)]
        return rows[0], rows[1], rows[2].rstrip()


@dataclass(frozen=True)
class FlowFigures:
    """Holds what the hosts' captures show of one flow, in bit/s, seconds and segments; None is a missing figure."""

    goodput: float | None
    longest_rtt: float | None
    longest_queue: float | None
    retransmitted: int | None

    @classmethod
    def of(cls, flow: MeasuredFlow) -> FlowFigures:
        """Return the figures of a flow."""
        trips, queued = (float(ns.max()) / 1e9 if len(ns) else None for ns in (flow.trips[1], flow.queued[1]))
        return cls(flow.goodput, trips, queued, None if flow.is_udp else flow.retransmitted)


@dataclass(frozen=True)
class FlowPair:
    """Holds the figures of one flow, on Mininet's wires and on exact ones."""

    name: str  # the hosts and the receiver's port
    mininet: FlowFigures
    exact: FlowFigures


@dataclass(frozen=True)
class WireComparison:
    """Holds a script's two runs."""

    mininet: MininetRun
    exact: MininetRun

    @property
    def differences(self) -> list[LinePair]:
        """The lines of the output that differ, in the order in which the script printed them."""
        return list(differences(self.mininet.record.text(SAID), self.exact.record.text(SAID)))

    @property
    def flows(self) -> list[FlowPair]:
        """The flows that both runs had with 20 segments or more, the largest first; empty without captures.

        The first flow from a host to a port of another host is a pair with the first such flow of the other run.
        Raises RecordError for an unreadable record.
        """
        ours, theirs = (_flows(run.record) for run in (self.mininet, self.exact))
        return [FlowPair(key[2], each, theirs[key]) for key, each in ours.items() if key in theirs]

    @property
    def reasons(self) -> list[str]:
        """The reasons why the figures may differ, one line for each reason that applies to the script."""
        return wires.reasons(self.exact.record)

    @property
    def exit_code(self) -> int:
        """Return 0 if the script succeeded on both wires, else 1."""
        return max(self.mininet.exit_code, self.exact.exit_code)

    def plain(self) -> dict[str, Any]:
        """Return the comparison as plain data for JSON."""
        return {
            "mininet": self.mininet.plain(),
            "exact": self.exact.plain(),
            "differences": [asdict(each) for each in self.differences],
            "flows": [asdict(each) for each in self.flows],
            "reasons": self.reasons,
        }


def _flows(record: Record) -> dict[tuple[int, int, str, bool], FlowFigures]:
    """Return the figures of each flow, by network, number among the flows of this name, name, and whether it is UDP."""
    found: dict[tuple[int, int, str, bool], FlowFigures] = {}
    for network in networks(record):
        largest = flows(record, network)
        seen: Counter[tuple[str, bool]] = Counter()
        numbers = {}
        for each in sorted(largest, key=lambda each: each.start_ns):
            numbers[id(each)] = seen[each.name, each.is_udp]
            seen[each.name, each.is_udp] += 1
        found |= {
            (network.number, numbers[id(each)], each.name, each.is_udp): FlowFigures.of(each)
            for each in largest
            if each.segments >= LEAST_SEGMENTS
        }
    return found


def differences(mininet: str, exact: str) -> Iterator[LinePair]:
    """Yield the lines that differ between two outputs of a script. Lines with the same words are a pair."""
    first, second = (text.replace("\r", "").splitlines() for text in (mininet, exact))
    words, others = ([_NUMBER.sub("#", line) for line in lines] for lines in (first, second))
    for _, start, end, other, last in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        there, here = first[start:end], second[other:last]
        for number in range(max(len(there), len(here))):
            pair = LinePair("".join(there[number : number + 1]), "".join(here[number : number + 1]))
            if pair.mininet != pair.exact:
                yield pair
