"""Prove which labels no capture can decide: `make explain-twins`, or `-m bench.twins --help`.

A transfer of `make explain-truth` whose send buffer was full runs a second time with a much larger one (tcp_wmem[2]),
and with everything else the same: its twin. Then the two captures at the receiver are compared, byte by byte and
nanosecond by nanosecond. As long as they are the same, and the twin's kernel has a different limit, there are two
answers for the same packets. So no rule can find both: a miss there is one in principle, and a hit is luck. If the
packets differ, they can tell these two transfers, though not yet every full buffer from every other limit.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, zip_longest
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.backlog import Queue, queue_of
from bench.draw import Drawn
from bench.explained import CASES, Part, account, parts, records, stamped
from bench.transfers import draw, options
from lab.errors import LabError
from lab.guest import outputs
from lab.metric.arrays import np
from lab.metric.capture import Capture
from lab.metric.pcap import GLOBAL, RECORD
from lab.metric.tcp_info import read
from lab.record.record import Record

BUFFER = 16 << 20  # bytes: more than a drawn path, its queue and a drawn window hold
FULL, END = "send buffer", "receiver"
THROUGHOUT, SAME, DIFFERENT, ALIKE = "same throughout", "same so far", "different", "no proof"
FATES = {
    THROUGHOUT: "the twin's packets are the same from the first to the last one",
    SAME: "the twin's packets are the same up to the last one that left by then, but some later one is not",
    DIFFERENT: "the twin's packets are different",
    ALIKE: "the twin's packets are the same, but its kernel counts a full send buffer, too",
}


@dataclass(frozen=True)
class Twins:
    """Holds the time in s in which the send buffer of one transfer was full, by (label, fate)."""

    number: int
    program: str
    stamped: bool
    time: Mapping[tuple[str, str], float]
    first: str  # in what the first packet that is not the same is different; "" if all are the same


def same_until(one: Path, other: Path) -> tuple[int, str] | None:
    """Return (time in ns of the first packet in which two captures differ, what is different); None if they do not.

    Packets are different if the time, the length or a captured byte is.
    """
    for first, second in zip_longest(_packets(one), _packets(other)):
        if first != second:
            return min(each[0] for each in (first, second) if each), _difference(first, second)
    return None


def _difference(first: tuple[int, bytes] | None, second: tuple[int, bytes] | None) -> str:
    if first is None or second is None:
        return "end"
    if first[0] != second[0]:
        return "time"
    return "length" if first[1][:RECORD] != second[1][:RECORD] else "bytes"


def _packets(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (time in ns, bytes with the record's header) of each packet."""
    capture, data = Capture(path), path.read_bytes()
    ends = GLOBAL + np.cumsum(RECORD + capture.captured)
    for time, (start, end) in zip(capture.time_ns.tolist(), pairwise([GLOBAL, *ends.tolist()]), strict=True):
        yield time, data[start:end]


def fates(found: Iterable[Part], until: int | None, queue: Queue, twin: Sequence[tuple[int, int, tuple[str, str]]],
          later: int) -> dict[tuple[str, str], float]:  # fmt: skip
    """Return the time in which the send buffer was full, by (label, fate).

    `until` comes from `same_until`. The last segment that left in a part of the time arrives after that part if it
    waits in the queue, and has to be the same, too. `twin` is the account of the twin, at the sender: `later` ns before
    the receiver sees what it does.
    """
    starts = [start for start, _, _ in twin]
    time: dict[tuple[str, str], float] = {}
    for part in found:
        if part.truth != FULL:
            continue
        last = int(np.searchsorted(queue.left, part.end - later, side="right")) - 1
        arrival = int(queue.left[last] + queue.busy[last]) + later if last >= 0 else part.end
        at = bisect_right(starts, (part.start + part.end) // 2 - later) - 1
        groups = twin[at][2] if at >= 0 else (FULL,)
        if until is not None and until <= max(arrival, part.end):
            fate = DIFFERENT
        elif FULL in groups:
            fate = ALIKE
        else:
            fate = SAME if until is not None else THROUGHOUT
        time[part.label, fate] = time.get((part.label, fate), 0.0) + part.seconds
    return time


def compare(record: Record, drawn: Drawn, other: Record, twin: Drawn) -> Twins:
    """Compare the captures of a transfer and of its twin at the receiver."""
    queue, queue2 = queue_of(record, drawn), queue_of(other, twin)
    samples = max(read(other.path(outputs.tcp_info("sender"))), key=len)
    until = same_until(*(each.path(outputs.capture(END, "eth0")) for each in (record, other)))
    time, first = until or (None, "")
    later = drawn.case.network.links[0].forward.delay.ns
    found = fates(parts(record, drawn, END, queue), time, queue, list(account(samples, twin, queue2)), later)
    return Twins(drawn.number, drawn.case.arm, stamped(drawn), found, first)


def run(day: str, numbers: Iterable[int], results: Path, jobs: int | None) -> list[Twins]:
    """Run the transfers of a date that the store lacks, and the twins of those whose send buffer was full.

    Raises LabError.
    """
    drawn = {number: draw(day, number) for number in numbers}
    done = records(list(drawn.values()), results, jobs)
    full = [number for number, each in done.items()
            if any(part.truth == FULL for part in parts(each, drawn[number], END))]  # fmt: skip
    twins = {number: draw(day, number, BUFFER) for number in full}
    again = records(list(twins.values()), results, jobs)
    return [compare(done[number], drawn[number], again[number], twins[number]) for number in full if number in again]


def table(found: Sequence[Twins], title: str) -> Table:
    """Return the seconds in which the send buffer was full, by label and by what the twin shows."""
    total: dict[tuple[str, str], float] = {}
    for each in found:
        for pair, time in each.time.items():
            total[pair] = total.get(pair, 0.0) + time
    labels = sorted({label for label, _ in total}, key=lambda label: (label != FULL, label))
    made = Table("label", *FATES, "all", title=title, box=None)
    for label in labels:
        row = [total.get((label, fate), 0.0) for fate in FATES]
        made.add_row(label, *(f"{time:.2f}" for time in (*row, sum(row))))
    told = {pair: time for pair, time in total.items() if pair[1] not in (THROUGHOUT, SAME)}
    made.caption = f"{_score(total)}; {_score(told)} without the time that no capture can tell"
    return made


def _score(total: Mapping[tuple[str, str], float]) -> str:
    whole = sum(total.values())
    right = sum(time for (label, _), time in total.items() if label == FULL)
    return f"{100 * right / max(whole, 1e-9):.1f} % of {whole:.1f} s"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a draw and its twins, print the tables, and return 3 if the machine cannot run them."""
    asked = options("explain-twins", "Prove which labels no capture decides.", CASES).parse_args(argv)
    console = Console(highlight=False, width=140)
    try:
        found = run(asked.date, asked.only or range(1, asked.cases + 1), asked.results, asked.jobs)
    except LabError as error:
        print(f"twins: {error}", file=sys.stderr)
        return error.exit_code
    for title, own in (("all", found), ("with timestamps", [each for each in found if each.stamped]),
                       ("without timestamps", [each for each in found if not each.stamped])):  # fmt: skip
        console.print(table(own, title), "")
    counts = Counter(each.first or "nothing" for each in found)
    console.print("first different in: " + ", ".join(f"{name} ({count})" for name, count in counts.most_common()))
    for name, meaning in FATES.items():
        console.print(f"{name}: {meaning}")
    (asked.results / f"{asked.date}.twins.json").write_text(
        json.dumps([{**asdict(each), "time": [[*pair, time] for pair, time in each.time.items()]} for each in found],
                   indent=1) + "\n"
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
