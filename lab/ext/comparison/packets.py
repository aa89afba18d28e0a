"""Find the first packet that differs between two captures of the same trial on different kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.ext.comparison.meaning import UNKNOWN, Meaning, meaning
from lab.ext.comparison.segments import segments
from lab.metric.capture import Capture

_FIELDS = ("flow", "flags", "seq", "ack", "window", "payload", "header", "options", "time")
_AROUND = 2  # packets shown before and after the first difference


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
    before: tuple[str, ...] = ()  # the packets before it, which are the same on both sides
    base_after: tuple[str, ...] = ()  # the packets after it
    new_after: tuple[str, ...] = ()
    meaning: Meaning = UNKNOWN


def first_packet_difference(base: Capture, new: Capture) -> PacketDifference | None:
    """Return the first packet that differs, in content or in time, or None if all packets are equal.

    A packet's content is its direction, flags, payload length, window, options and relative numbers. Its time
    counts from the first packet, and is compared to the nanosecond, or to the file's resolution.
    """
    ours, theirs = segments(base), segments(new)
    common = min(len(ours), len(theirs))
    apart = {name: ours.columns[name][:common] != theirs.columns[name][:common] for name in _FIELDS}
    found = np.flatnonzero(np.logical_or.reduce([*apart.values()]))
    if not len(found) and len(ours) == len(theirs):
        return None
    index = int(found[0]) if len(found) else common
    differing = [name for name in _FIELDS if index < common and apart[name][index]] or ["end"]
    what = "flow" if "flow" in differing else ", ".join(differing)
    return PacketDifference(
        index + 1,
        what,
        ours.say(index),
        theirs.say(index),
        ours.lines(index - _AROUND, index),
        ours.lines(index + 1, index + 1 + _AROUND),
        theirs.lines(index + 1, index + 1 + _AROUND),
        meaning(ours, theirs, index, differing),
    )
