"""Read the TCP packets of a capture without the values that depend on a seed or on a kernel's own randomness: ports,
initial sequence numbers and the values of timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.metric.capture import Capture
from lab.metric.options import Options
from lab.metric.packets import ACK, FIN, PSH, RST, SYN, Flow

Column: TypeAlias = npt.NDArray[Any]  # of any integer type

FLAGS = {SYN: "SYN", FIN: "FIN", RST: "RST", PSH: "PSH", ACK: "ACK", 0x20: "URG", 0x40: "ECE", 0x80: "CWR"}
_COLUMNS = ("flow", "flags", "time_ns", "seq", "ack", "window", "payload", "header_length", "sack")


@dataclass(frozen=True)
class SegmentTable:
    """Holds the TCP packets of a capture.

    The columns are time (in ns since the first packet), flow (from 0), seq, ack, flags, window (as the header has it),
    payload, header (both in bytes) and options (a hash).
    """

    columns: Mapping[str, Column]
    options: Mapping[int, str]  # index -> options, for packets whose header's length does not determine them
    reverse: Column  # for each flow, the flow of the other direction, or -1
    scales: Column  # for each flow, the factor of its windows, or 0 if the capture does not show the factor

    def __len__(self) -> int:
        return len(self.columns["time"])

    def packet(self, index: int) -> dict[str, int]:
        """Return a packet's value in each column."""
        return {name: int(column[index]) for name, column in self.columns.items()}

    def lines(self, start: int, end: int) -> tuple[str, ...]:
        """Return the packets from `start` up to `end` in words, as far as they exist."""
        return tuple(self.say(index) for index in range(max(start, 0), min(end, len(self))))

    def say(self, index: int) -> str:
        """Return a packet in one line, in the style of tcpdump, or "" past the last packet."""
        if index >= len(self):
            return ""
        here = self.packet(index)
        flags = "+".join(name for bit, name in FLAGS.items() if here["flags"] & bit)
        parts = [f"{here['time'] / 1e9:.9f} s", f"flow {here['flow'] + 1}", flags, f"seq {here['seq']}"]
        parts += [f"ack {here['ack']}"] if here["flags"] & ACK else []
        parts += [f"win {here['window']}", f"len {here['payload']}", f"header {here['header']}"]
        return " ".join([*parts, *filter(None, [self.options.get(index)])])


def segments(capture: Capture) -> SegmentTable:
    """Return the TCP packets of a capture. Raises CaptureError."""
    is_tcp, *columns = capture.columns("tcp", *_COLUMNS)
    tcp = np.flatnonzero(is_tcp)
    flow, flags, time, seq, ack, window, payload, header, sack = (column[tcp] for column in columns)
    seq, ack = seq.astype(np.int64), ack.astype(np.int64)
    first = np.zeros(len(capture.flows) + 1, np.int64)  # the first sequence number of each flow; 0 if none
    numbers, at = np.unique(flow, return_index=True)
    first[numbers] = seq[at]
    turn = np.zeros_like(first)  # the order of the TCP flows' first packets, without other flows
    turn[numbers[np.argsort(at)]] = np.arange(len(numbers))
    reverse = _reverse(capture.flows)
    theirs = _acknowledged(reverse, first, flow, np.where(flags & ACK, ack, -1))
    having = np.flatnonzero((flags & SYN != 0) | sack)
    parsed = dict(zip(having.tolist(), capture.options_of(tcp[having].tolist()), strict=True))
    said = {index: _say(found, int(theirs[flow[index]])) for index, found in parsed.items()}
    options = np.zeros(len(tcp), np.int64)
    options[[*said]] = [hash(text) for text in said.values()]  # 64 bits, so that a collision is practically impossible
    relative = {
        "time": time - (time[0] if len(time) else 0),
        "flow": turn[flow],
        "seq": (seq - first[flow]) % 2**32,
        "ack": np.where(flags & ACK, (ack - theirs[flow]) % 2**32, 0),
        "flags": flags,
        "window": window.astype(np.int64),
        "payload": payload.astype(np.int64),
        "header": header,
        "options": options,
    }
    opposite = np.full(len(numbers), -1, np.int64)
    opposite[turn[numbers]] = [turn[other] if other in numbers else -1 for other in reverse[numbers]]
    syns = {int(relative["flow"][index]): found.window_scale for index, found in parsed.items() if flags[index] & SYN}
    return SegmentTable(relative, said, opposite, _scales(syns, opposite))


def _reverse(flows: Sequence[Flow]) -> Column:
    """Return, for each flow, the flow of the other direction, or -1 if the capture does not have it."""
    known = {each: number for number, each in enumerate(flows)}
    return np.array([known.get(each.reverse, -1) for each in flows], np.int64)


def _acknowledged(reverse: Column, first: Column, flow: Column, ack: Column) -> Column:
    """Return the base of each flow's acknowledgement numbers. In `ack`, -1 means no ACK.

    The base is the first number of the other direction, or of the flow's own ACKs if the capture has no other
    direction.
    """
    acks = np.flatnonzero(ack >= 0)
    numbers, at = np.unique(flow[acks], return_index=True)
    own = np.zeros(len(reverse), np.int64)
    own[numbers] = ack[acks[at]]
    theirs: Column = np.where(reverse >= 0, first[reverse], own)
    return theirs


def _scales(syns: Mapping[int, int | None], reverse: Column) -> Column:
    """Return the factor of each flow's windows: scaled only if the SYNs of both directions have the option."""
    found = np.zeros(len(reverse), np.int64)
    for flow, shift in syns.items():
        other = int(reverse[flow])
        if other in syns:
            found[flow] = 1 if shift is None or syns[other] is None else 1 << min(shift, 14)  # RFC 7323 2.3
    return found


def _say(options: Options, first: int) -> str:
    """Return the options in words, without timestamps. SACK's edges are relative to the sequence number `first`."""
    parts = [] if options.mss is None else [f"mss {options.mss}"]
    parts += [] if options.window_scale is None else [f"wscale {options.window_scale}"]
    parts += ["sackOK"] if options.sack_permitted else []
    parts += [f"sack {(left - first) % 2**32}-{(right - first) % 2**32}" for left, right in options.sack]
    return " ".join(parts)
