"""Open a capture for a student: its packets as lines, and a copy with a name that one finds again."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.metric import Capture
from lab.metric.packets import ACK, FIN, PSH, RST, SYN
from lab.report.html import Html, code, scrolled, table

__all__ = ["opened"]

_FOLDER = Path("captures")
_FLAGS = {SYN: "SYN", FIN: "FIN", RST: "RST", PSH: "PSH", ACK: "ACK"}
_HEAD = ("No.", "Time, ms", "From", "To", "Flags", "Seq", "Ack", "Window", "Header, B", "Payload, B", "MSS")


def opened(capture: Path, name: str, first: int, count: int) -> Html:
    """Show `count` packets of TCP from the one numbered `first` on, and copy the capture to `captures/` under `name`.

    Sequence numbers count from the first of their direction, as Wireshark shows them. Raises OSError, CaptureError.
    """
    _FOLDER.mkdir(exist_ok=True)
    shutil.copyfile(capture, _FOLDER / name)
    read = Capture(capture)
    start: dict[int, int] = {}
    for packet in range(min(first + count, len(read))):
        if read.tcp[packet]:
            start.setdefault(int(read.flow[packet]), int(read.seq[packet]))
    shown = [packet for packet in range(first, min(first + count, len(read))) if read.tcp[packet]]
    link = f'<a href="{_FOLDER / name}">{code(str(_FOLDER / name))}</a>'
    said = f"<p>{len(read):,} packets; all of them, for Wireshark, are in {link}.</p>"
    return Html(scrolled(table(_HEAD, [_row(read, packet, start) for packet in shown]), "Packets"), said)


def _row(read: Capture, packet: int, start: dict[int, int]) -> list[str]:
    flow = read.flows[int(read.flow[packet])]
    back = read.flows.index(flow.reverse) if flow.reverse in read.flows else -1
    flags, mss = int(read.flags[packet]), read.options(packet).mss
    acks = flags & ACK and back in start
    return [
        str(packet + 1),
        f"{int(read.time_ns[packet] - read.time_ns[0]) / 1e6:.3f}",
        f"{flow.source}:{flow.source_port}",
        f"{flow.destination}:{flow.destination_port}",
        " ".join(word for bit, word in _FLAGS.items() if flags & bit),
        str((int(read.seq[packet]) - start[int(read.flow[packet])]) % (1 << 32)),
        str((int(read.ack[packet]) - start[back]) % (1 << 32)) if acks else "",
        *(str(int(column[packet])) for column in (read.window, read.header_length, read.payload)),
        "" if mss is None else str(mss),
    ]
