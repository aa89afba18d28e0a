"""Open a capture for a student: show its packets as lines, or what limited its transfer."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from html import escape
from pathlib import Path

from lab.errors import InputError
from lab.ext.explain import display
from lab.ext.explain.explaining import explain
from lab.metric import Capture
from lab.metric.packets import ACK, FIN, PSH, RST, SYN
from lab.report.html import Html, code, scrolled, table

_FOLDER = Path("captures")
_FLAGS = {SYN: "SYN", FIN: "FIN", RST: "RST", PSH: "PSH", ACK: "ACK"}
_HEAD = ("No.", "Time, ms", "From", "Flags", "Seq", "Ack", "Window, B", "Header, B", "Payload, B", "MSS")


def opened(capture: Path, name: str, first: int, count: int) -> Html:
    """Return up to `count` TCP packets from number `first` on, and copy the capture to `captures/` as `name`.

    As in Wireshark, packets count from 1, sequence numbers are relative to the first one in their direction, and
    windows are in bytes, scaled as the SYN announced. Raises OSError and CaptureError.
    """
    _FOLDER.mkdir(exist_ok=True)
    shutil.copyfile(capture, _FOLDER / name)
    read = Capture(capture)
    ways: dict[int, _Way] = {}
    begin = max(first, 1) - 1
    end = min(begin + count, len(read))
    for packet in range(end):
        if read.tcp[packet] and int(read.flow[packet]) not in ways:
            ways[int(read.flow[packet])] = _way(read, packet)
    rows = [_row(read, packet, ways) for packet in range(begin, end) if read.tcp[packet]]
    columns = len(_HEAD) if any(mss for *_, mss in rows) else len(_HEAD) - 1  # only a SYN has an MSS
    link = f'<a href="{_FOLDER / name}">{code(str(_FOLDER / name))}</a>'
    said = f"<p>{len(read):,} packets; all of them, for Wireshark, are in {link}.</p>"
    return Html(scrolled(table(_HEAD[:columns], [row[:columns] for row in rows]), "Packets"), said)


def explained(capture: Path) -> Html:
    """Return what limited the transfer with the most payload, with its share of time. Raises InputError."""
    carrying = [each for each in explain(capture).connections if each.facts]
    if not carrying:
        raise InputError(f"{capture}: no TCP connection with data; name a capture of a transfer")
    each = max(carrying, key=lambda each: each.payload[0])
    rows = [
        [limit.value, f"{percent} %", display.evidence(each, limit)]
        for limit, percent in each.percents.items()
        if percent
    ]
    head = ("Limit", "Time", "What the packets show")
    return Html(f"<p>{escape(display.amounts(each))}</p>", table(head, [[*map(escape, row)] for row in rows]))


@dataclass(frozen=True)
class _Way:
    """Holds the first sequence number of a direction, and the shift of its windows."""

    start: int
    shift: int | None  # None: no SYN was captured, or it does not scale


def _way(read: Capture, packet: int) -> _Way:
    """Return a direction's first number and shift, from its first packet."""
    shift = read.options(packet).window_scale if read.flags[packet] & SYN else None
    return _Way(int(read.seq[packet]), shift)


def _row(read: Capture, packet: int, ways: dict[int, _Way]) -> list[str]:
    own = ways[int(read.flow[packet])]
    flow = read.flows[int(read.flow[packet])]
    back = ways.get(read.flows.index(flow.reverse)) if flow.reverse in read.flows else None
    flags, mss = int(read.flags[packet]), read.options(packet).mss
    # RFC 7323, section 2.2: both ends scale, or neither does, and never in a SYN.
    scales = back and back.shift is not None and own.shift is not None and not flags & SYN
    window = int(read.window[packet]) << (own.shift or 0 if scales else 0)
    return [
        str(packet + 1),
        f"{int(read.time_ns[packet] - read.time_ns[0]) / 1e6:.3f}",
        flow.ends[0],
        " ".join(word for bit, word in _FLAGS.items() if flags & bit),
        str((int(read.seq[packet]) - own.start) % (1 << 32)),
        str((int(read.ack[packet]) - back.start) % (1 << 32)) if back and flags & ACK else "",
        str(window),
        *(str(int(column[packet])) for column in (read.header_length, read.payload)),
        "" if mss is None else str(mss),
    ]
