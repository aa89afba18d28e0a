"""Judge `lab explain` on transfers drawn after its last change: `make explain-truth`, or `-m bench.explained --help`.

A date decides the transfers: path, buffers, queue, losses, congestion control and program. Each runs in virtual time,
is captured at both ends, and is sampled with tcp_info. The kernel's own account of each interval between two samples
(busy, limited by the receive window or by the send buffer; cwnd, ssthresh, unsent bytes) is compared with the label
that the capture alone gave. What comes out is the confusion matrix of time.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.backlog import ENDS, Queue, queue_of
from bench.draw import Drawn
from bench.transfers import KERNEL, draw, options
from lab.app import userlands
from lab.errors import LabError
from lab.ext.explain.explaining import Explanation, explain
from lab.ext.explain.limits import FULL, SHORTEST_ROUND_NS, Limit
from lab.guest import outputs
from lab.machine.kernel import choose
from lab.metric.arrays import Bools, np
from lab.metric.tcp_info import Samples, read
from lab.record.record import Record
from lab.record.store import Store
from lab.runner.plan import trial_of
from lab.runner.progress import shown
from lab.runner.schedule import Runner

CASES = 60
NAMED = 0.9  # captures with a smaller share of time as the kernel has it
PAYLOAD = 1448 / 1538  # of the wire's time
RESTLESS = ("bulk", "slow-reader")  # programs that write as fast as they can
CWR, RECOVERY = 2, 3  # enum tcp_ca_state, include/uapi/linux/tcp.h
INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH

GROUPS: Mapping[str, tuple[Limit, ...]] = {  # labels that the kernel's account does not distinguish
    "application": (Limit.IDLE, Limit.TURNS, Limit.HANDSHAKE),
    "Nagle": (Limit.NAGLE,),
    "receive window": (Limit.WINDOW, Limit.ZERO_WINDOW),
    "send buffer": (Limit.SEND_BUFFER,),
    "slow start": (Limit.SLOW_START,),
    "congestion window": (Limit.CWND, Limit.TIMEOUT, Limit.REORDERING, Limit.BLACK_HOLE, Limit.PACING),
    "bottleneck rate": (Limit.RATE,),
    "cannot tell": (Limit.UNKNOWN,),
}
_GROUP = {limit: group for group, limits in GROUPS.items() for limit in limits}


@dataclass(frozen=True)
class Compared:
    """Holds the time of one capture by (the kernel's account, the label), in seconds."""

    number: int
    program: str
    end: str
    stamped: bool  # whether packets have timestamps
    time: Mapping[tuple[str, str], float]

    @property
    def right(self) -> float:
        """Return the share of time with the same label."""
        whole = sum(self.time.values())
        return sum(time for (truth, label), time in self.time.items() if truth == label) / whole if whole else 1.0


def account(samples: Samples, drawn: Drawn, queue: Queue) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """Yield (start, end, (group at the start, group at the end)) for each interval between two samples.

    The kernel counts the time in which it was idle, limited by the receive window, and limited by the send buffer
    (tcp_chrono, net/ipv4/tcp_output.c). If one of these has the most of an interval, it is both groups. The rest of its
    busy time is divided by the state, which is known only when a sample was taken. If the states at both ends differ,
    the account does not tell when the limit changed. With
    nothing unsent and room in cwnd, the program had nothing to send. With less than a segment unsent and room in cwnd,
    Nagle's algorithm held it. A program that never rests waited for room in the send buffer in both cases: the kernel
    counts this time only if it has sent everything, and was not limited by cwnd before. Else cwnd is the limit: the
    bottleneck's rate if a queue stood there, or if the rate that was set is used in full; slow start before the first
    reaction to a loss.

    While the sender waits for its retransmission timer, the kernel goes on to count the send buffer, because only room
    for the writer stops that counter (__tcp_check_space). Both the timer and the buffer are right then.
    """
    names = ("busy_time", "rwnd_limited", "sndbuf_limited", "notsent_bytes", "snd_cwnd", "snd_ssthresh", "unacked")
    others = ("min_rtt", "snd_mss", "lost", "sacked", "ca_state")
    columns = {name: samples[name].astype(np.int64) for name in (*names, *others)}
    least = int(columns["min_rtt"][-1]) * 1000
    timer = _waits_for_timer(samples)
    full = _full(samples, drawn) | queue.stood(samples.time_ns, least)
    bbr = getattr(drawn.case.workload, "congestion", "") == "bbr"
    before = ""
    for row in range(len(samples)):
        state = {name: int(column[row]) for name, column in columns.items()}
        rest, network = _waits_for(state), _network(state, bool(full[row]), bbr)
        more = int(samples["bytes_sent"][-1]) > int(samples["bytes_sent"][row])
        if more and drawn.case.arm in RESTLESS and rest:
            rest = "send buffer"
        if row:
            start, end = int(samples.time_ns[row - 1]), int(samples.time_ns[row])
            busy, window, buffer = (1000 * int(columns[name][row] - columns[name][row - 1]) for name in names[:3])
            after = network if rest == "send buffer" and buffer else rest or network  # before, there was data to send
            parts = {"application": end - start - busy, "receive window": window, "send buffer": buffer}
            parts[after] = parts.get(after, 0) + busy - window - buffer
            group = max(parts, key=lambda name: parts[name])
            if timer[row] and group == "application":
                group = "congestion window"
            other = before if group == after else group
            yield start, end, ("congestion window" if timer[row] and group == "send buffer" else other, group)
        before = rest or network


def _waits_for_timer(samples: Samples) -> list[bool]:
    """Return for each sample whether data is outstanding, and the next event is a retransmission without an ACK."""
    resent, acked = (samples[name].astype(np.int64) for name in ("total_retrans", "bytes_acked"))
    unacked = np.where(samples["bytes_sent"] > 0, samples["unacked"], 0)  # a SYN is no data
    found, waits = [], False
    for row in range(len(samples) - 1, -1, -1):
        if row + 1 < len(samples):
            if acked[row + 1] > acked[row]:
                waits = False
            elif resent[row + 1] > resent[row]:
                waits = True
        found.append(waits and bool(unacked[row]))
    return found[::-1]


def _full(samples: Samples, drawn: Drawn) -> Bools:
    """Return in which samples the data that arrived in the last round trip used the path's rate in full.

    What was selectively acknowledged arrived, too.
    """
    rate = drawn.case.network.links[0].forward.rate
    assert rate is not None
    selected = samples["sacked"].astype(np.int64) * samples["snd_mss"].astype(np.int64)
    acked = np.maximum.accumulate(samples["bytes_acked"].astype(np.int64) + selected)
    rtt = samples["rtt"].astype(np.int64) * 1000
    span = np.maximum(rtt, SHORTEST_ROUND_NS)
    before = np.maximum(np.searchsorted(samples.time_ns, samples.time_ns - span, side="right") - 1, 0)
    took = np.maximum(samples.time_ns - samples.time_ns[before], 1)
    full: Bools = 8e9 * (acked - acked[before]) / took >= FULL * rate.bps * PAYLOAD
    return full


def _waits_for(state: Mapping[str, int]) -> str:
    """Return what a sender waits for that has room in cwnd; "" if it waits for the network."""
    flight = state["unacked"] - state["sacked"] - state["lost"]
    if flight >= state["snd_cwnd"] or state["lost"] or state["notsent_bytes"] >= state["snd_mss"]:
        return ""
    return "Nagle" if state["notsent_bytes"] else "application"


def _network(state: Mapping[str, int], full: bool, bbr: bool) -> str:
    if full:
        return "bottleneck rate"
    if bbr:  # it sets ssthresh when it has left STARTUP, and does not use it (bbr_check_drain)
        return "slow start" if state["snd_ssthresh"] == INFINITE else "congestion window"
    reacting = state["ca_state"] in (CWR, RECOVERY)  # cwnd is below ssthresh, but grows no faster than data arrives
    return "slow start" if state["snd_cwnd"] < state["snd_ssthresh"] and not reacting else "congestion window"


def compare(record: Record, drawn: Drawn, end: str) -> Compared:
    """Compare the labels of one capture with the kernel's account of the same connection."""
    time: dict[tuple[str, str], float] = {}
    for part in parts(record, drawn, end):
        pair = part.truth, part.label
        time[pair] = time.get(pair, 0.0) + part.seconds
    return Compared(drawn.number, drawn.case.arm, end, stamped(drawn), time)


def stamped(drawn: Drawn) -> bool:
    """Return whether packets have timestamps."""
    return drawn.case.network.nodes[0].sysctls["net.ipv4.tcp_timestamps"] != "0"


@dataclass(frozen=True)
class Part:
    """Holds a part of a connection's time, in ns at the capture, with the kernel's account and the label."""

    start: int
    end: int
    truth: str
    label: str

    @property
    def seconds(self) -> float:
        """Return its length."""
        return (self.end - self.start) / 1e9


def parts(record: Record, drawn: Drawn, end: str, queue: Queue | None = None) -> Iterator[Part]:
    """Yield the time of one capture in parts. What the sender does reaches the receiver after the link's delay."""
    found = explain(record.path(outputs.capture(end, "eth0")))
    every = [each for each in found.connections if each.stretches]
    samples = [each for each in read(record.path(outputs.tcp_info("sender"))) if len(each) > 1]
    queue = queue or queue_of(record, drawn)
    later = drawn.case.network.links[0].forward.delay.ns if end == "receiver" else 0
    for one in samples:
        ports = {one.local_port, one.remote_port}
        match = [each for each in every if {each.sender.source_port, each.sender.destination_port} == ports]
        if match:
            yield from _parts(one, match[0], drawn, queue, later)


def _parts(samples: Samples, found: Explanation, drawn: Drawn, queue: Queue, later: int) -> Iterator[Part]:
    """Yield the parts of one connection."""
    ends = [each.end for each in found.stretches]
    for start, end, groups in account(samples, drawn, queue):
        start, end = start + later, end + later
        if start < found.start or end > found.end:
            continue
        right, group = set(groups), groups[1]
        if "Nagle" in right and drawn.case.arm != "small-writes":
            right.add("application")  # the end of a block waits, and so does its slow writer: both are right
            group = "application" if group == "Nagle" else group
        for each in found.stretches[bisect_right(ends, start) :]:
            if each.start >= end:
                break
            label = _GROUP[each.limit]
            yield Part(max(start, each.start), min(end, each.end), label if label in right else group, label)


def run(cases: Sequence[Drawn], results: Path, jobs: int | None) -> list[Compared]:
    """Run the transfers that the store lacks, and compare all. Raises LabError."""
    done = records(cases, results, jobs)
    return [compare(done[each.number], each, end) for each in cases if each.number in done for end in ENDS]


def records(cases: Sequence[Drawn], results: Path, jobs: int | None) -> dict[int, Record]:
    """Run the transfers that the store lacks, and return the records of all that ran. Raises LabError."""
    store, kernel = Store(results), choose("uml", KERNEL)
    userland = userlands.chosen("sealed", "uml")
    trials = {each.number: trial_of(each.case, kernel, "virtual", each.seed, userland=userland) for each in cases}
    with shown(len(trials)) as progress:
        outcomes = Runner(store, [kernel], jobs).run(list(trials.values()), progress)
    done = {}
    for number, trial in trials.items():
        outcome = outcomes[trial.address]
        if isinstance(outcome, Record):
            done[number] = outcome
        else:
            print(f"explained: {number}: {outcome}", file=sys.stderr)
    return done


def matrix(compared: Sequence[Compared], title: str) -> Table:
    """Return the confusion matrix in per cent of each row's time: rows are the kernel's account, columns labels."""
    total = dict.fromkeys(((truth, label) for truth in GROUPS for label in GROUPS), 0.0)
    for each in compared:
        for pair, time in each.time.items():
            total[pair] += time
    table = Table("the kernel's account", "s", *GROUPS, title=title, box=None)
    for truth in GROUPS:
        whole = sum(total[truth, label] for label in GROUPS)
        if whole:
            table.add_row(truth, f"{whole:.0f}", *(f"{100 * total[truth, label] / whole:.1f}" for label in GROUPS))
    whole = sum(total.values())
    right = sum(time for (truth, label), time in total.items() if truth == label)
    blind = sum(time for (_, label), time in total.items() if label == "cannot tell")
    right, blind = (100 * part / max(whole, 1e-9) for part in (right, blind))
    table.caption = f"{right:.1f} % of {whole:.0f} s as the kernel has it; cannot tell: {blind:.1f} %"
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Run a draw, print the matrices, and return 3 if the machine cannot run it."""
    asked = options("explain-truth", "Judge `lab explain` by the kernel.", CASES).parse_args(argv)
    console = Console(highlight=False, width=140)
    try:
        compared = run([draw(asked.date, number) for number in asked.only or range(1, asked.cases + 1)],
                       asked.results, asked.jobs)  # fmt: skip
    except LabError as error:
        print(f"explained: {error}", file=sys.stderr)
        return error.exit_code
    for end in ENDS:
        console.print(matrix([each for each in compared if each.end == end], f"captured at the {end}"), "")
    known = [each for each in compared if each.end == "receiver" and each.stamped]
    console.print(matrix(known, "captured at the receiver, with timestamps"), "")
    (asked.results / f"{asked.date}.json").write_text(
        json.dumps([{"number": each.number, "program": each.program, "end": each.end, "stamped": each.stamped,
                     "right": each.right, "time": [[*pair, time] for pair, time in each.time.items()]}
                    for each in compared]) + "\n"
    )  # fmt: skip
    for each in sorted(compared, key=lambda each: each.right):
        if each.right < NAMED:
            wrong = sorted(((time, *pair) for pair, time in each.time.items() if pair[0] != pair[1]), reverse=True)
            worst = "; ".join(f"{truth}, labelled {label}: {time:.2f} s" for time, truth, label in wrong[:2])
            console.print(f"{each.number} {each.program} at the {each.end}: {100 * each.right:.0f} %. {worst}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
