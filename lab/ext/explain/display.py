"""Show explanations in the terminal, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lab.ext.explain.explaining import Explained, Explanation, Facts
from lab.ext.explain.gains import Gains, compared, rows, sentence, transfer_of
from lab.ext.explain.labels import Stretch
from lab.ext.explain.limits import MEANING, SAME_MOMENT_LEAST_NS, STANDING, STANDING_LEAST_NS, Limit
from lab.report.wording import figure, plural
from lab.units import Value

CONNECTIONS = 20  # that a terminal shows, those with the most payload
STRETCHES = 40  # that a terminal shows of a connection


def plain(found: Explained, gains: Gains | None = None) -> dict[str, Any]:
    """Return the explanations as plain data for JSON. Times are in seconds, sizes in bytes, rates in bit/s."""
    worth = {} if gains is None else {"gains": gains.plain()}
    return {
        **worth,
        "file": found.file,
        "packets": found.packets,
        "not_tcp": found.others,
        "remarks": list(found.remarks),
        "connections": [_plain(each) for each in found.connections],
    }


def _plain(each: Explanation) -> dict[str, Any]:
    facts = each.facts
    sender, receiver = each.sender.ends
    return {
        "number": each.number,
        "sender": sender,
        "receiver": receiver,
        "start": each.start / 1e9,
        "seconds": (each.end - each.start) / 1e9,
        "payload": each.payload[0],
        "payload_back": each.payload[1],
        "packets": each.packets,
        "facts": facts and {
            "captured_at": facts.where.name,
            "because": facts.where.reason,
            "rtt": None if facts.where.rtt is None else facts.where.rtt / 1e9,
            "mss": facts.mss,
            "mss_options": list(facts.mss_options),
            "window_scales": list(facts.scales),
            "sack": facts.sack,
            "timestamps": facts.timestamps,
            "initial_window": facts.initial_window,
            "delayed_ack_waits": facts.delayed_nagle,
            "missing": facts.missing,
        },
        "shares": {limit.value: share for limit, share in each.shares.items()},
        "stretches": [
            {
                "start": (part.start - each.start) / 1e9,
                "seconds": part.seconds,
                "limit": part.limit.value,
                "packets": part.packets,
                "flight": part.flight,
                "window": part.window,
                "rtt": None if part.delay is None else part.delay / 1e9,
                "segments": part.sent,
                "again": part.again,
                "rate": part.rate,
            }
            for part in each.stretches
        ],
    }  # fmt: skip


def shown(found: Explained, closely: bool, gains: Gains | None = None) -> RenderableType:
    """Return the explanations for a terminal. `closely` adds the stretches of time."""
    explained = [each for each in found.connections if each.facts]
    most = sorted(explained, key=lambda each: -each.payload[0])[:CONNECTIONS]
    parts: list[RenderableType] = [Text(f"{found.file}: {plural(found.packets, 'packet')}, {found.counted}")]
    parts += [Text(f"remark: {each}", style="yellow") for each in found.remarks]
    for each in sorted(most, key=lambda each: each.number):
        parts += [Text(""), *_connection(each)]
        if closely:
            parts += [Text(""), _stretches(each)]
            if len(each.stretches) > STRETCHES:
                parts.append(Text(f"{len(each.stretches) - STRETCHES} more stretches: --json has all of them"))
    if found.connections and not most:
        parts.append(Text(f"{plural(len(found.connections), 'connection')} without a transfer"))
    elif len(found.connections) > len(most):
        rest = len(found.connections) - len(most)
        parts += [Text(""), Text(f"{plural(rest, 'further connection')}: --flow N explains one, --json lists all")]
    if gains is not None:
        parts += [Text(""), *_worth(found, gains)]
    return Group(*parts)


def _worth(found: Explained, gains: Gains) -> Iterator[RenderableType]:
    yield Text(sentence(transfer_of(found, gains), gains), style="bold")
    yield Text(compared(gains))
    table = Table("change", "goodput", "mean round trip", box=None, padding=(0, 1), pad_edge=False)
    for each in rows(gains):
        table.add_row(*each)
    yield table


def _connection(each: Explanation) -> Iterator[RenderableType]:
    assert each.facts
    yield Text(f"{each.number}  {' > '.join(each.sender.ends)}", style="bold")
    yield Padding(Text(amounts(each)), (0, 0, 0, 3))
    yield Padding(Text(described(each.facts)), (0, 0, 0, 3))
    if each.facts.missing:
        yield Padding(Text(f"missing: {each.facts.missing}", style="yellow"), (0, 0, 0, 3))
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_column()
    for limit, percent in each.percents.items():
        if percent:
            table.add_row(f"{percent} %", Text(limit.value, style="bold"), evidence(each, limit))
    yield Padding(table, (0, 0, 0, 3))


def amounts(each: Explanation) -> str:
    """Return a connection's payload, time and rate."""
    seconds = (each.end - each.start) / 1e9
    rate = f", {figure(Value(8 * each.payload[0] / seconds, 'bit/s'))}" if seconds and each.payload[0] else ""
    return f"{figure(Value(each.payload[0], 'B'))} in {figure(Value(seconds, 's'))}{rate}, {each.packets:,} packets"


def described(facts: Facts) -> str:
    """Return where a connection was captured, and what its handshake agreed on."""
    place = {"unknown": "captured at an unknown place", "between": "captured between the ends"}
    said = [place.get(facts.where.name, f"captured at the {facts.where.name}")]
    if facts.where.rtt is not None and facts.where.rtt < SAME_MOMENT_LEAST_NS:
        said = ["captured near both ends"]
    if facts.where.rtt:  # 0 is less than the capture's clock can show
        said.append(f"least RTT {figure(Value(facts.where.rtt / 1e9, 's'))}")
    said.append(f"full segment {facts.mss} B")
    if facts.scales[1] is not None:
        said.append(f"window scale {facts.scales[1]}")
    said += [name for name, has in (("SACK", facts.sack), ("timestamps", facts.timestamps)) if has]
    if facts.initial_window:
        said.append(f"initial window {facts.initial_window:,} B")
    return ", ".join(said)


def evidence(each: Explanation, limit: Limit) -> str:
    """Return what a limit means, with its figure from the packets."""
    parts = [part for part in each.stretches if part.limit is limit]
    said = MEANING[limit]
    flight, window = max(part.flight for part in parts), max(part.window for part in parts)
    sent, again = sum(part.sent for part in parts), sum(part.again for part in parts)
    if limit is Limit.WINDOW and window:
        said += f": {window:,} B at most{_carries(each, parts, window)}"
    elif limit is Limit.SEND_BUFFER and flight:
        said += f": {flight:,} B at most{_carries(each, parts, flight)}"
    elif limit in (Limit.CWND, Limit.SLOW_START) and flight:
        said += f"; {flight:,} B in flight at most"
    elif limit is Limit.RATE:
        delays = [part.delay for part in parts if part.delay is not None]
        took = sum(part.seconds for part in parts)
        said += f": {figure(Value(8 * sum(part.acked for part in parts) / took, 'bit/s'))}" if took else ""
        said += f", RTT {figure(Value(max(delays) / 1e9, 's'))}" if delays else ""
    elif limit is Limit.NAGLE and each.facts and each.facts.delayed_nagle:
        said += f"; {plural(each.facts.delayed_nagle, 'wait')} for a delayed ACK"
    return said + (f"; {again:,} of {sent:,} segments again" if again else "")


def _carries(each: Explanation, parts: list[Stretch], window: int) -> str:
    """Return the rate that a window carries over the least round trip, or over the usual one if that is longer."""
    rtt = each.facts and each.facts.where.rtt
    if not rtt:
        return ""
    known = [(part.delay, part.seconds) for part in parts if part.delay is not None]
    usual = sum(delay * took for delay, took in known) / sum(took for _, took in known) if known else rtt
    if usual >= rtt + max(STANDING * rtt, STANDING_LEAST_NS):
        rate, round_trip, least = (Value(8e9 * window / usual, "bit/s"), Value(usual / 1e9, "s"), Value(rtt / 1e9, "s"))
        return f", which carry {figure(rate)} over an RTT of {figure(round_trip)} ({figure(least)} at least)"
    return f", which carry {figure(Value(8e9 * window / rtt, 'bit/s'))}" if rtt >= 1_000_000 else ""


def _stretches(each: Explanation) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for name in ("from s", "for s"):
        table.add_column(name, justify="right")
    table.add_column("limit")
    for name in ("rate", "in flight", "RTT", "packets"):
        table.add_column(name, justify="right")
    for part in each.stretches[:STRETCHES]:
        table.add_row(*row(each, part))
    return table


def row(each: Explanation, part: Stretch) -> tuple[str, ...]:
    """Return a stretch as a row: start, length, limit, rate, bytes in flight, round trip, packets."""
    return (
        f"{(part.start - each.start) / 1e9:.3f}",
        f"{part.seconds:.3f}",
        part.limit.value,
        figure(Value(part.rate, "bit/s")) if part.acked else "-",
        f"{part.flight:,}" if part.flight else "-",
        figure(Value(part.delay / 1e9, "s")) if part.delay is not None else "-",
        f"{part.packets[0]}-{part.packets[1]}" if part.packets else "-",
    )
