"""The first packet at which two captures of the same trial, on different kernels, part.

What a seed or a kernel's own randomness decides is left out: ports, initial sequence numbers, time stamps' values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.metric.capture import ACK, FIN, PSH, RST, SYN, Capture

__all__ = ["Divergence", "diverge"]

Columns: TypeAlias = dict[str, npt.NDArray[Any]]

# Reading the clock moves virtual time by 256 ns, and another kernel reads it more or less often.
LATE_NS = 10_000
_FLAGS = {SYN: "SYN", FIN: "FIN", RST: "RST", PSH: "PSH", ACK: "ACK"}


@dataclass(frozen=True, slots=True)
class Divergence:
    """Packet `number`, counted from 1 among the TCP packets, in words, on either side; "" where one side has ended.

    `what` differs: "content", or only its "time".
    """

    number: int
    what: str
    base: str
    new: str


def diverge(base: Capture, new: Capture) -> Divergence | None:
    """Where the packets part, in content or by more than 10 us in time; None where they never do.

    A packet's content is its direction, flags, payload, window, options and its relative numbers; its time counts
    from the first packet.
    """
    ours, theirs = _columns(base), _columns(new)
    common = min(len(ours["time"]), len(theirs["time"]))
    content = np.zeros(common, np.bool_)
    for name in ours.keys() - {"time"}:
        content |= ours[name][:common] != theirs[name][:common]
    late = np.abs(ours["time"][:common] - theirs["time"][:common]) > LATE_NS
    apart = np.flatnonzero(content | late)
    if not len(apart) and len(ours["time"]) == len(theirs["time"]):
        return None
    index = int(apart[0]) if len(apart) else common
    what = "content" if index == common or content[index] else "time"
    return Divergence(index + 1, what, _say(ours, index), _say(theirs, index))


def _columns(capture: Capture) -> Columns:
    """The TCP packets, without what is random."""
    tcp = np.flatnonzero(capture.tcp)
    flow, flags, time = capture.flow[tcp], capture.flags[tcp], capture.time_ns[tcp]
    seq, ack = capture.seq[tcp].astype(np.int64), capture.ack[tcp].astype(np.int64)
    first = np.zeros(len(capture.flows) + 1, np.int64)  # the first sequence number of each flow; 0 of one not seen
    numbers, at = np.unique(flow, return_index=True)
    first[numbers] = seq[at]
    turn = np.zeros_like(first)  # of each flow: in which order TCP's appear, whatever else there is between them
    turn[numbers[np.argsort(at)]] = np.arange(len(numbers))
    known = {each: number for number, each in enumerate(capture.flows)}
    reverse = np.array([known.get(each.reverse, -1) for each in capture.flows], np.int64)
    options = np.zeros(len(tcp), np.int64)
    for index in np.flatnonzero(flags & SYN):
        said = capture.options(int(tcp[index]))
        options[index] = (said.mss or 0) << 8 | (said.window_scale or 0) << 1 | said.sack_permitted
    return {
        "time": time - (time[0] if len(time) else 0),
        "flow": turn[flow],
        "seq": (seq - first[flow]) % 2**32,
        "ack": np.where(flags & ACK, (ack - first[reverse[flow]]) % 2**32, 0),
        "flags": flags,
        "window": capture.window[tcp].astype(np.int64),
        "payload": capture.payload[tcp].astype(np.int64),
        "header": capture.header_length[tcp],
        "options": options,
    }


def _say(columns: Columns, index: int) -> str:
    """A packet in a line, as tcpdump would put it; "" past the last one."""
    if index >= len(columns["time"]):
        return ""
    here = {name: int(column[index]) for name, column in columns.items()}
    flags = "+".join(name for bit, name in _FLAGS.items() if here["flags"] & bit)
    parts = [f"{here['time'] / 1e9:.6f} s", f"flow {here['flow'] + 1}", flags, f"seq {here['seq']}"]
    parts += [f"ack {here['ack']}"] if here["flags"] & ACK else []
    parts += [f"win {here['window']}", f"len {here['payload']}", f"header {here['header']}"]
    if here["flags"] & SYN:
        parts += [f"mss {here['options'] >> 8}", f"wscale {here['options'] >> 1 & 127}"]
    return " ".join(parts)
