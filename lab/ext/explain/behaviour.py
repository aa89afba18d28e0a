"""Find a workload of the lab that sends and reads like the programs in a capture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lab.ext.explain.exchange import ANY_WINDOW
from lab.ext.explain.explaining import Closely
from lab.ext.explain.gaps import Why, pieces
from lab.ext.explain.limits import SAME_MOMENT_NS, Limit
from lab.ext.explain.measuring import SeenPath, rounded
from lab.metric.arrays import Ints, np
from lab.units import Duration, Size

_TURNS = 0.3  # of the time, without data that is on its way: the programs take turns
_RESTS = 0.05  # of the time: the writer pauses
_PAUSES = 3  # fewer show no regular writes
_STEADY = 0.75  # of the largest window so far: a program that reads all data at once keeps the window this large
_REGULAR = 0.25  # times the median: the standard deviation of a regular reader's periods
_UNREAD = 0.05  # of the ACKs have a smaller window
_LONGER = 4  # times the transfer: after this, a workload gives up
_REPLY = 2  # bytes that SmallWrites answers with


@dataclass(frozen=True)
class Behaviour:
    """Describes the programs: a workload's name and fields as an experiment writes them, and what they do in words."""

    kind: str
    fields: Mapping[str, str | int]
    words: str
    unknown: tuple[str, ...] = ()  # what the capture does not show

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
        return _exchange(seen, path, spent(Limit.NAGLE) > _RESTS)
    common: dict[str, str | int] = {"ip": 6} if path.ipv6 else {}
    if found := _reader(seen, path, common):
        return found
    congestion = {"congestion": path.congestion} if path.congestion else {}
    sent = int((seen.found.end - seen.found.seq)[~seen.found.again].sum())
    longest = Duration(10**9 * (10 + _LONGER * (seen.explanation.end - seen.explanation.start) // 10**9))
    fields: dict[str, str | int] = {"size": str(Size(sent)), "duration": str(longest), **congestion, **common}
    if spent(Limit.IDLE) >= _RESTS and (pauses := _pauses(seen, path, sent)):
        block, effort = pauses
        writes = max(round(sent / block), 1)
        step = 10**6 if effort.ns > 10**7 else 10**3
        lasts = Duration(step * round((writes - 0.5) * effort.ns / step))  # the last write begins before its end
        fields = {"duration": str(lasts), "block": str(Size(block)), "effort": str(effort), **congestion, **common}
        return Behaviour(
            "Bulk",
            fields,
            f"the program writes {block:,} B about every {effort}",
            ("whether the program's writes all have the same size: the rebuilt ones do",),
        )
    idle = f"{100 * shares.get(Limit.IDLE, 0.0):.0f} %"
    unknown = (f"when the program writes: it was idle for {idle} of the time, and the rebuilt one never is",)
    words = "the program writes as fast as it can"
    return Behaviour("Bulk", fields, words, unknown if spent(Limit.IDLE) >= _RESTS else ())


def _pauses(seen: Closely, path: SeenPath, sent: int) -> tuple[int, Duration] | None:
    """Return the bytes between two pauses, and the time from the start of one write to the next."""
    parts = pieces(seen.found, seen.view, path.mss, path.rtt)
    idle = (parts.why == Why.IDLE) & (parts.end - parts.start > SAME_MOMENT_NS)
    count = int(idle.sum())
    if count < _PAUSES:
        return None
    starts = np.concatenate((seen.view.left[:1], parts.end[idle]))
    cycle = (int(starts[-1]) - int(starts[0])) // count
    last = int(np.searchsorted(seen.view.left, starts[-1]))
    size = (seen.found.end - seen.found.seq)[seen.view.order]
    fresh = ~seen.found.again[seen.view.order]
    block = max(int((size * fresh)[:last].sum()) // count, 1)
    return min(block, sent), Duration(1000 * max(cycle // 1000, 1))


def _reads(time: Ints, edge: Ints, rtt: int) -> tuple[int, float]:
    """Return how many bytes are read at a time, and the rate in bit/s, from the moves of the window's right edge.

    Without pauses, or with those of an irregular reader or shorter than a round trip, single reads do not show. Then, a
    read counts as the bytes by which the edge moves from ACK to ACK.
    """
    moved = np.flatnonzero(np.diff(edge) > 0) + 1
    pauses = np.diff(time[moved])
    usual = int(np.sort(pauses)[-_PAUSES]) if len(pauses) >= _PAUSES else 0
    begins = moved[1:][pauses > usual // 2]
    periods = np.diff(time[begins])
    if usual < 2 * rtt or len(periods) < 2 or np.std(periods) > _REGULAR * np.median(periods):
        whole = 8e9 * float(edge[-1] - edge[0]) / float(time[-1] - time[0])
        return int(np.median(np.diff(edge)[moved - 1])), whole
    block = int(edge[begins[-1] - 1] - edge[begins[0] - 1]) // (len(begins) - 1)
    return block, 8e9 * block / float(np.median(periods))


def _reader(seen: Closely, path: SeenPath, common: Mapping[str, str | int]) -> Behaviour | None:
    """Return a reader with a rate of its own if the window became smaller again and again, else None.

    A window becomes smaller only while data is unread, and its right edge moves as the program reads.
    """
    found = seen.found
    window = found.edge - found.ack
    if not len(window) or int(window.max()) >= ANY_WINDOW:
        return None
    full = np.flatnonzero(window < _STEADY * np.maximum.accumulate(window))
    if len(full) < max(2, _UNREAD * len(window)):
        return None
    first, last = int(full[0]), int(full[-1])
    time, edge = found.ack_time[first : last + 1], found.edge[first : last + 1]
    if time[-1] <= time[0] or edge[-1] <= edge[0]:
        return None
    block, rate = _reads(time, edge, path.rtt)
    sent = int((found.end - found.seq)[~found.again].sum())
    block = max(min(block, sent), 1)
    duration = 8e9 * (max(round(sent / block), 1) + 0.5) * block / rate  # the reader begins whole blocks only
    return Behaviour(
        "PacedReader",
        {
            "duration": str(Duration(1000 * int(duration / 1000 + 1))),
            "rate": str(rounded(rate)),
            "block": str(Size(block)),
            **common,
        },
        f"the receiving program reads {block:,} B at a time, at {rounded(rate)}",
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
    beyond = (facts.where.beyond if every.forward[0] else facts.where.behind) or 0
    pairs = requests[requests + 1 < len(asks)]
    on_wire = every.size[pairs] * 8e9 / path.rate if path.rate else np.zeros(len(pairs))
    think = every.start[pairs + 1] - every.end[pairs] - beyond - np.where(every.size[pairs] > path.mss, on_wire, 0)
    starts = every.start[requests]
    cycle = int(starts[-1] - starts[0]) // (count - 1) if count > 1 else 0
    response = int(every.size[answers].mean()) if len(answers) else 0
    rest = every.start[requests[1:]] - every.end[requests[1:] - 1]
    behind = (facts.where.behind if every.forward[0] else facts.where.beyond) or 0
    at_once = len(rest) and float(np.median(rest)) - behind < SAME_MOMENT_NS
    fields = {
        "count": count,
        "interval": str(Duration(1000 * (1 if at_once or not cycle else cycle // 1000))),
        "request": str(Size(max(round(float(every.size[requests].mean())), 1))),
        "response": str(Size(response)),
        "think": str(Duration(1000 * max(int(np.median(think)) // 1000, 0) if len(think) else 0)),
        **common,
    }
    return Behaviour(
        "RequestResponse",
        fields,
        f"one end sends {count} requests of {fields['request']}, and the other answers each with "
        f"{fields['response']} after {fields['think']}",
        ("whether requests and answers vary on purpose: the rebuilt ones all have their mean size and time",),
    )
