"""What a peer is, what one run of it shows, and which runs count as the same transfer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers.transfer import SLOT, Transfer
from lab.errors import LabError

FILLED = 0.85  # of the link's goodput that a transfer has to reach, or it is not the same; the inverse is the most
DELAYED = 0.95  # of the round trip that the delays make: less is a missing delay
FULL_FRAME = 1600  # bytes of payload in a frame: more are a super-packet


@dataclass(frozen=True, slots=True)
class Peer:
    """Describes a tool that can run a transfer."""

    name: str
    root: bool  # whether it needs root
    install: str  # what to do if it is missing
    version: Callable[[], str | None]  # None: missing
    command: Callable[[Transfer, Path], list[str]]  # prints what `read` reads; the folder is for its files
    remark: str = ""  # how its transfer differs, whatever a run shows


def program(name: str) -> str:
    """Return the path of a program, because the enclosure has a search path of its own; "" if it is missing."""
    return shutil.which(name) or ""


@dataclass(frozen=True, slots=True)
class PeerRun:
    """Holds what one run took and showed."""

    cpu: float  # seconds, in all processes
    goodput: float  # bit/s
    seen: str  # everything that a second run would have to repeat
    remarks: tuple[str, ...] = ()  # how it differs from the transfer that was asked for


@dataclass(frozen=True, slots=True)
class Row:
    """Holds one line of the table: a peer's runs of one transfer, or the reason why there are none."""

    peer: str
    version: str
    root: bool
    transfer: Transfer
    cpu: tuple[float, ...] = ()
    error: float | None = None  # of the median goodput, relative to physics
    identical: bool | None = None  # whether all runs showed the same; None for fewer than two
    remarks: tuple[str, ...] = ()


def read(text: str, transfer: Transfer, cpu: float) -> PeerRun:
    """Return a run from the output of a peer: the lines of JSON that bulk.py or ns3.cc printed, among others.

    Raises LabError if the output has no figures.
    """
    lines, seen = [], dict[str, Any]()
    for line in text.splitlines():
        try:
            found = json.loads(line[line.index("{") :])
        except (ValueError, RecursionError):
            continue
        lines.append(line)
        seen |= found
    slots = seen.get("slots")
    if not isinstance(slots, list) or not all(type(each) is int and 0 <= each < 1 << 60 for each in slots):
        last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no output")
        raise LabError(f"no figures: {last[:200]}")
    first, end = (round(each / SLOT) for each in transfer.window)
    goodput = 8 * sum(slots[first:end]) / (transfer.window[1] - transfer.window[0])
    return PeerRun(cpu, goodput, "\n".join(sorted(lines)), tuple(_remarks(seen, sum(slots), transfer)))


def _remarks(seen: dict[str, Any], received: int, transfer: Transfer) -> list[str]:
    """Return how the run differs from the transfer, as far as its figures show it."""
    remarks = []
    rtt, frames, congestion = (seen.get(name) for name in ("rtt", "frames", "congestion"))
    if isinstance(rtt, float) and rtt < DELAYED * 2e-3 * transfer.delay_ms:
        remarks.append("without the delay")
    if isinstance(frames, int) and frames > 0 and received / frames > FULL_FRAME:
        remarks.append("super-packets: its kernel handles far fewer packets than a link has frames")
    if isinstance(congestion, str) and congestion != transfer.congestion:
        remarks.append(f"with {congestion[:16]}")
    return remarks


def judged(peer: str, version: str, root: bool, transfer: Transfer, runs: Sequence[PeerRun], remark: str = "") -> Row:
    """Return the line of a peer's runs.

    Runs that carry less than `FILLED` of the link's goodput, or more than the inverse, are refused. They are other
    work, so their line has no seconds.
    """
    share = median(run.goodput for run in runs) / transfer.physics
    identical = len({run.seen for run in runs}) == 1 if len(runs) > 1 else None
    remarks = tuple(dict.fromkeys([*(remark,) * bool(remark), *(each for run in runs for each in run.remarks)]))
    if not FILLED <= share <= 1 / FILLED:
        refused = f"refused: it carries {100 * share:.0f} % of the rate, which is other work"
        return Row(peer, version, root, transfer, (), share - 1, identical, (refused, *remarks))
    return Row(peer, version, root, transfer, tuple(run.cpu for run in runs), share - 1, identical, remarks)
