"""Find a workload of the lab that sends and reads like the programs in a capture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lab.base import ethernet
from lab.ext.explain.explaining import Closely
from lab.ext.explain.limits import NAMED, SAME_MOMENT_NS, Limit
from lab.ext.explain.measuring import RESTS, SeenPath, rounded
from lab.ext.explain.reader import SlowReads, reads_at_once, slow_reads, woken_by
from lab.ext.explain.writer import SlowWrites, slow_writes
from lab.guest.workload import Bulk
from lab.metric.arrays import Floats, Ints, np
from lab.units import Duration, Size

_TURNS = 0.3  # of the time, without data that is on its way: the programs take turns
_LONGER = 4  # times the transfer: after this, a workload gives up
_WATERMARK = Bulk().watermark.bytes
_SLACK_NS = 50_000  # Linux wakes a program that sleeps so much later than it asked for (timer_slack_ns, init_task.c)
_REPLY = 2  # bytes that SmallWrites answers with


@dataclass(frozen=True)
class Behaviour:
    """Describes the programs: a workload's name and fields as an experiment writes them, and what they do in words."""

    kind: str
    fields: Mapping[str, str | int]
    words: str
    unknown: tuple[str, ...] = ()  # what the capture does not show
    never_waits: bool = False  # whether the program writes on schedule, so that the send buffer is never full

    def changed(self, **fields: str | int) -> Behaviour:
        """Return the same workload with other fields."""
        return replace(self, fields={**self.fields, **fields})

    def source(self, indent: int = 0) -> str:
        """Return the workload as Python, with one field in a line."""
        pad = " " * indent
        lines = [f"{pad}    {name}={_literal(value)}," for name, value in self.fields.items()]
        return "\n".join([f"{self.kind}(", *lines, f"{pad})"])


def _literal(value: str | int) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def behaviour(seen: Closely, path: SeenPath) -> Behaviour:
    """Return the workload that is most like the programs in the capture."""
    shares = seen.explanation.shares

    def spent(*limits: Limit) -> float:
        return sum(shares.get(each, 0.0) for each in limits)

    answers = (seen.rows.payload > 0) & ~seen.rows.forward.astype(bool)
    waits = spent(Limit.TURNS, Limit.IDLE, Limit.NAGLE, Limit.HANDSHAKE)
    if answers.any() and waits >= _TURNS:
        return _exchange(seen, path, spent(Limit.NAGLE) > RESTS)
    common: dict[str, str | int] = {"ip": 6} if path.ipv6 else {}
    sent = int((seen.found.end - seen.found.seq)[~seen.found.again].sum())
    reads = slow_reads(seen, path.rtt, path.mss)
    writes = slow_writes(seen, path, sent) if spent(Limit.IDLE) >= RESTS else None
    facts = seen.explanation.facts
    if writes and not writes.regular and facts and facts.where.name != "sender" and spent(Limit.SEND_BUFFER) >= NAMED:
        writes = None  # a full buffer pauses, too, and only a capture at the sender shows which ACK woke the program
    woken = woken_by(seen.found, path.mss) if reads else None
    if woken:
        reads = None
    if reads and not (writes and writes.regular):  # a slow reader's window is full, and its sender seldom idle
        return _reader(reads, common)
    congestion = {"congestion": path.congestion} if path.congestion else {}
    if writes:
        return _writer(writes, {**congestion, **common})
    longest = Duration(10**9 * (10 + _LONGER * (seen.explanation.end - seen.explanation.start) // 10**9))
    fields: dict[str, str | int] = {"size": str(Size(sent)), "duration": str(longest), **congestion, **common}
    if woken and (woken > _WATERMARK or (path.window or 0) >= 2 * _WATERMARK >= 2 * woken + 4 * path.mss):
        fields["watermark"] = str(Size(woken))  # a smaller window wakes any program before (tcp_epollin_ready)
    elif not woken and spent(Limit.WINDOW) >= NAMED and reads_at_once(seen.found, path.mss):
        fields["watermark"] = "1 B"  # default: the program sleeps until more is unread, which a small window shows
    idle = f"{seen.explanation.percents.get(Limit.IDLE, 0)} %"
    unknown = (f"when the program writes: it was idle for {idle} of the time, and the rebuilt one never is",)
    words = "the program writes as fast as it can"
    return Behaviour("Bulk", fields, words, unknown if spent(Limit.IDLE) >= RESTS else ())


def _writer(writes: SlowWrites, common: Mapping[str, str | int]) -> Behaviour:
    effort = Duration(1000 * (max(writes.pause - _SLACK_NS, 1000) // 1000))
    block, lasts = str(Size(writes.block)), str(Duration(1000 * (writes.lasts // 1000)))
    return Behaviour(
        "Bulk",
        {"duration": lasts, "block": block, "effort": str(effort), **common},
        f"the program writes {writes.block:,} B, and then pauses for {effort}",
        ("whether the program's writes all have the same size: the rebuilt ones do",),
        writes.never_waits,
    )


def _reader(reads: SlowReads, common: Mapping[str, str | int]) -> Behaviour:
    rate = rounded(8e9 * reads.block / reads.period)
    lasts = (reads.count + 0.5) * 8e9 * reads.block / rate.bps  # the reader begins whole blocks only
    return Behaviour(
        "PacedReader",
        {
            "duration": str(Duration(1000 * int(lasts / 1000 + 1))),
            "rate": str(rate),
            "block": str(Size(reads.block)),
            **common,
        },
        f"the receiving program reads {reads.block:,} B at a time, at {rate}",
        ("how the receiving program divides its reads: the rebuilt one reads evenly",),
    )


@dataclass(frozen=True)
class _Messages:
    """Holds messages in order of time. A message is data in one direction, not interrupted by data of the other."""

    forward: Ints
    start: Ints
    end: Ints
    size: Ints
    first: Ints  # bytes of the first segment


def _messages(seen: Closely) -> _Messages:
    rows, found = seen.rows, seen.found
    answering = _answering(seen)
    times = np.concatenate((found.time[~found.again], rows.time_ns[answering]))
    packet = np.concatenate((found.packet[~found.again], rows.packet[answering]))
    size = np.concatenate(((found.end - found.seq)[~found.again], rows.payload[answering].astype(np.int64)))
    forward = np.concatenate((np.ones(int((~found.again).sum()), np.int64), np.zeros(len(answering), np.int64)))
    order = np.argsort(packet)
    times, size, forward = times[order], size[order], forward[order]
    begins = np.flatnonzero(np.diff(forward, prepend=1 - forward[:1]) != 0)
    ends = np.concatenate((begins[1:], [len(forward)]))
    total = np.add.reduceat(size, begins)
    return _Messages(forward[begins], times[begins], times[ends - 1], total, size[begins])


def _answering(seen: Closely) -> Ints:
    """Return the rows with new data of the other end."""
    rows = seen.rows
    data = np.flatnonzero((rows.payload > 0) & ~rows.forward.astype(bool))
    position = (rows.seq[data].astype(np.int64) - int(rows.seq[data[0]])).astype(np.int32).astype(np.int64)
    reached = np.maximum.accumulate(np.concatenate(([-1], position + rows.payload[data])))[:-1]
    found: Ints = data[position >= reached]
    return found


def _way(seen: Closely, path: SeenPath, every: _Messages, at: Ints) -> Floats:
    """Return the time in ns from a message to the answer if the other program answers at once.

    Both are on the way, and both are transmitted: the message as a whole, and the first segment of the answer. At a
    capture at the other end, the message has arrived, and the answer has only left.
    """
    facts = seen.explanation.facts
    assert facts is not None
    ahead = every.forward[at] > 0
    parts = np.where(ahead, facts.where.beyond or 0, facts.where.behind or 0).astype(np.float64)
    if facts.where.name not in ("sender", "receiver"):
        return parts
    own = ahead == (facts.where.name == "sender")
    around = path.headers + ethernet.AROUND
    answer = np.minimum(every.first[np.minimum(at + 1, len(every.first) - 1)], path.mss) + around
    waits = np.where(ahead, *(_transmitted(seen, path, every.end[at], way) for way in (True, False)))
    whole = waits + 2 * path.delay + (8e9 * answer / path.rate if path.rate else 0)
    return np.where(own, whole, parts)


def _transmitted(seen: Closely, path: SeenPath, at: Ints, forward: bool) -> Floats:
    """Return the time in ns until what was sent in a direction up to each time was transmitted at the path's rate."""
    rows = seen.rows[(seen.rows.payload > 0) & (seen.rows.forward.astype(bool) == forward)]
    if not path.rate or not len(rows):
        return np.zeros(len(at))
    size = rows.payload.astype(np.int64)
    takes = 8e9 / path.rate * (size + -(-size // path.mss) * (path.headers + ethernet.AROUND))
    sent = np.cumsum(takes)
    since = (rows.time_ns - rows.time_ns[0]).astype(np.float64)
    done = sent + np.maximum.accumulate(since - (sent - takes))  # a segment waits for those before
    last = np.maximum(np.searchsorted(rows.time_ns, at, side="right") - 1, 0)
    found: Floats = np.maximum(done[last] - (at - rows.time_ns[0]), 0)
    return found


def _exchange(seen: Closely, path: SeenPath, nagle: bool) -> Behaviour:
    """Return an exchange of messages. The end that sent the first message sends the requests."""
    every = _messages(seen)
    asks = every.forward == every.forward[0]
    requests, answers = np.flatnonzero(asks), np.flatnonzero(~asks)
    common: dict[str, str | int] = {"ip": 6} if path.ipv6 else {}
    if not every.forward[0]:
        common |= {"client": "receiver", "server": "sender"}
    count = len(requests)
    if nagle:
        size = max(int(np.median(every.first[requests])), 1)
        answer = round(float(every.size[answers].mean()))
        writes = max(round(float(every.size[requests].mean()) / size), 1)
        return Behaviour(
            "SmallWrites",
            {"messages": count, "writes": writes, "size": str(Size(size)), "way": "plain", **common},
            f"the program writes each message in {writes} pieces of {size:,} B, without TCP_NODELAY",
            () if answer == _REPLY else (f"why the answers have {answer:,} B: the rebuilt ones have {_REPLY} B",),
        )
    facts = seen.explanation.facts
    assert facts is not None
    pairs = requests[requests + 1 < len(asks)]
    think = every.start[pairs + 1] - every.end[pairs] - _way(seen, path, every, pairs)
    starts = every.start[requests]
    cycle = int(starts[-1] - starts[0]) // (count - 1) if count > 1 else 0
    response = int(every.size[answers].mean()) if len(answers) else 0
    rest = every.start[requests[1:]] - every.end[requests[1:] - 1] - _way(seen, path, every, requests[1:] - 1)
    at_once = len(rest) and float(np.median(rest)) < SAME_MOMENT_NS
    fields = {
        "count": count,
        "interval": str(Duration(1000 * (1 if at_once or not cycle else cycle // 1000))),
        "request": str(Size(max(round(float(every.size[requests].mean())), 1))),
        "response": str(Size(response)),
        "think": str(Duration(1000 * max(int(np.median(think) - _SLACK_NS) // 1000, 0) if len(think) else 0)),
        **common,
    }
    return Behaviour(
        "RequestResponse",
        fields,
        f"one end sends {count} requests of {fields['request']}, and the other answers each with "
        f"{fields['response']} after {fields['think']}",
        ("whether requests and answers vary on purpose: the rebuilt ones all have their mean size and time",),
    )
