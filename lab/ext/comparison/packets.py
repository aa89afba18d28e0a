"""Find the first packet that differs between two captures of the same trial on different kernels.

The comparison ignores values that depend on a seed or on a kernel's own randomness: ports, initial sequence numbers and
the values of timestamps.
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

_Ints: TypeAlias = npt.NDArray[Any]  # of any integer type

_FLAGS = {SYN: "SYN", FIN: "FIN", RST: "RST", PSH: "PSH", ACK: "ACK", 0x20: "URG", 0x40: "ECE", 0x80: "CWR"}
_COLUMNS = ("flow", "flags", "time_ns", "seq", "ack", "window", "payload", "header_length", "sack")
_FIELDS = ("flow", "flags", "seq", "ack", "window", "payload", "header", "options", "time")


@dataclass(frozen=True, slots=True)
class PacketDifference:
    """Describes the first packet that differs, on both sides.

    `what` names the fields that differ, like "window, time": flags, seq, ack, window, payload, header, options, time.
    `what` is "flow" if the two packets have different directions or connections, because such packets have no fields to
    compare. `what` is "end" if one side has no more packets.
    """

    number: int  # counted from 1, TCP packets only
    what: str
    base: str  # the packet in words; "" if this side has ended
    new: str


@dataclass(frozen=True)
class _Segments:
    """Holds the TCP packets of a capture, without random values."""

    columns: Mapping[str, _Ints]
    options: Mapping[int, str]  # index -> options, for packets whose header's length does not determine them

    def __len__(self) -> int:
        return len(self.columns["time"])

    def say(self, index: int) -> str:
        """Return a packet in one line, in the style of tcpdump, or "" past the last packet."""
        if index >= len(self):
            return ""
        here = {name: int(column[index]) for name, column in self.columns.items()}
        flags = "+".join(name for bit, name in _FLAGS.items() if here["flags"] & bit)
        parts = [f"{here['time'] / 1e9:.9f} s", f"flow {here['flow'] + 1}", flags, f"seq {here['seq']}"]
        parts += [f"ack {here['ack']}"] if here["flags"] & ACK else []
        parts += [f"win {here['window']}", f"len {here['payload']}", f"header {here['header']}"]
        return " ".join([*parts, *filter(None, [self.options.get(index)])])


def first_packet_difference(base: Capture, new: Capture) -> PacketDifference | None:
    """Return the first packet that differs, in content or in time, or None if all packets are equal.

    A packet's content is its direction, flags, payload length, window, options and relative numbers. Its time
    counts from the first packet, and is compared to the nanosecond, or to the file's resolution.
    """
    ours, theirs = _segments(base), _segments(new)
    common = min(len(ours), len(theirs))
    apart = {name: ours.columns[name][:common] != theirs.columns[name][:common] for name in _FIELDS}
    found = np.flatnonzero(np.logical_or.reduce([*apart.values()]))
    if not len(found) and len(ours) == len(theirs):
        return None
    index = int(found[0]) if len(found) else common
    differing = [name for name in _FIELDS if index < common and apart[name][index]] or ["end"]
    what = "flow" if "flow" in differing else ", ".join(differing)
    return PacketDifference(index + 1, what, ours.say(index), theirs.say(index))


def _segments(capture: Capture) -> _Segments:
    is_tcp, *columns = capture.columns("tcp", *_COLUMNS)
    tcp = np.flatnonzero(is_tcp)
    flow, flags, time, seq, ack, window, payload, header, sack = (column[tcp] for column in columns)
    seq, ack = seq.astype(np.int64), ack.astype(np.int64)
    first = np.zeros(len(capture.flows) + 1, np.int64)  # the first sequence number of each flow; 0 if none
    numbers, at = np.unique(flow, return_index=True)
    first[numbers] = seq[at]
    turn = np.zeros_like(first)  # the order of the TCP flows' first packets, without other flows
    turn[numbers[np.argsort(at)]] = np.arange(len(numbers))
    theirs = _acknowledged(capture.flows, first, flow, np.where(flags & ACK, ack, -1))
    said = {
        index: _say(capture.options(int(tcp[index])), int(theirs[flow[index]]))
        for index in np.flatnonzero((flags & SYN != 0) | sack).tolist()
    }
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
    return _Segments(relative, said)


def _acknowledged(flows: Sequence[Flow], first: _Ints, flow: _Ints, ack: _Ints) -> _Ints:
    """Return the base of each flow's acknowledgement numbers. In `ack`, -1 means no ACK.

    The base is the first number of the other direction, or of the flow's own ACKs if the capture has no other
    direction.
    """
    known = {each: number for number, each in enumerate(flows)}
    reverse = np.array([known.get(each.reverse, -1) for each in flows], np.int64)
    acks = np.flatnonzero(ack >= 0)
    numbers, at = np.unique(flow[acks], return_index=True)
    own = np.zeros(len(flows), np.int64)
    own[numbers] = ack[acks[at]]
    theirs: _Ints = np.where(reverse >= 0, first[reverse], own)
    return theirs


def _say(options: Options, first: int) -> str:
    """Return the options in words, without timestamps. SACK's edges are relative to the sequence number `first`."""
    parts = [] if options.mss is None else [f"mss {options.mss}"]
    parts += [] if options.window_scale is None else [f"wscale {options.window_scale}"]
    parts += ["sackOK"] if options.sack_permitted else []
    parts += [f"sack {(left - first) % 2**32}-{(right - first) % 2**32}" for left, right in options.sack]
    return " ".join(parts)
