"""Write a page about a capture: each connection's timeline, coloured by what limited it, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from lab.base import writing
from lab.base.foreign import printable
from lab.ext.explain import display, gains
from lab.ext.explain.explaining import Explained, Explanation
from lab.ext.explain.gains import Gains
from lab.ext.explain.limits import Limit
from lab.report import html, page
from lab.report.wording import percents

CONNECTIONS = 30  # on a page, those with the most payload
ROWS = 200  # stretches in a table
_WIDTH, _HEIGHT = 1000, 44  # of a timeline, in its own units
_COLOURS = {  # for light and dark pages: related limits have related hues
    Limit.HANDSHAKE: ("#8b8b8b", "#9a9a9a"),
    Limit.IDLE: ("#d6d6d2", "#4a4b50"),
    Limit.TURNS: ("#b9b9a8", "#6b6b5c"),
    Limit.NAGLE: ("#c79a00", "#e0b04f"),
    Limit.WINDOW: ("#0072b2", "#5db8f0"),
    Limit.ZERO_WINDOW: ("#00406b", "#2f7fb3"),
    Limit.SEND_BUFFER: ("#6a51a3", "#b3a4f5"),
    Limit.SLOW_START: ("#7fbf7b", "#8fd694"),
    Limit.CWND: ("#00734f", "#3fcf9f"),
    Limit.RATE: ("#d95f02", "#f59a55"),
    Limit.PACING: ("#e7a977", "#b87b4b"),
    Limit.TIMEOUT: ("#b2182b", "#ef6a7a"),
    Limit.REORDERING: ("#d6604d", "#ff9f8e"),
    Limit.BLACK_HOLE: ("#1a1a1a", "#e8e6e3"),
    Limit.UNKNOWN: ("#f2c9e4", "#7a4566"),
}


def write(found: Explained, file: Path, worth: Gains | None = None) -> None:
    """Write the page. `worth` adds what undoing each limit is worth. Raises MachineError if it cannot be written."""
    writing.write(render(found, worth), file)


def render(found: Explained, worth: Gains | None = None) -> str:
    """Return the page as HTML, a single file without links to others."""
    name = printable(Path(found.file).name)
    title, body = f"What limited the transfers in {name}", "\n".join(_body(found, worth))
    return page.single(title, f"<span>{escape(name)}</span>", body, _style())


def _style() -> str:
    light, dark = (
        "".join(
            f".{_slug(limit)} {{ fill: {pair[index]}; background: {pair[index]}; }}" for limit, pair in _COLOURS.items()
        )
        for index in (0, 1)
    )
    return (
        f"\n{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n"
        "svg.timeline { display: block; width: 100%; max-width: none; height: 2.75rem; }\n"
        ".limit-key { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; }\n"
        ".limit-key { border: 1px solid var(--line); print-color-adjust: exact; }\n"
        "[data-label=Limit] { white-space: nowrap; }\n"
    )


def _slug(limit: Limit) -> str:
    return "limit-" + limit.value.lower().replace(" ", "-")


def _body(found: Explained, worth: Gains | None) -> Iterator[str]:
    rebuilt = None if worth is None else gains.transfer_of(found, worth)
    if rebuilt is not None:
        yield f"<p><strong>{html.prose(gains.sentence(rebuilt, worth))}</strong></p>"
    yield f"<p>{found.packets:,} packets, {found.counted}.</p>"
    yield from (f'<p class="missing">{html.prose(printable(each))}</p>' for each in found.remarks)
    explained = sorted((each for each in found.connections if each.facts), key=lambda each: -each.payload[0])
    further = [each for each in explained[CONNECTIONS:] if each is rebuilt]
    for each in sorted(explained[:CONNECTIONS] + further, key=lambda each: each.number):
        yield from _connection(each)
        if worth is not None and each is rebuilt:
            yield from _worth(worth)
    if len(found.connections) > CONNECTIONS:
        also = ", and the rebuilt one" if further else ""
        yield f"<p>The page shows the {CONNECTIONS} connections with the most payload{also}.</p>"


def _worth(worth: Gains) -> Iterator[str]:
    yield html.heading("gains", "What it is worth to undo each limit", "Gains")
    yield f"<p>{html.prose(gains.compared(worth))} Each factor is the mean over seeds, with its interval.</p>"
    head = ["Change", "Goodput", "Mean round trip"]
    yield html.table(head, [[html.prose(cell) for cell in row] for row in gains.rows(worth)])


def _connection(each: Explanation) -> Iterator[str]:
    assert each.facts
    title = " to ".join(each.sender.ends)
    yield html.heading(f"connection-{each.number}", escape(f"{each.number}: {title}"), f"Connection {each.number}")
    said = display.described(each.facts)
    said = f"{display.amounts(each)}. {said[0].upper()}{said[1:]}."
    yield f"<p>{html.prose(said)}</p>"
    if each.facts.missing:
        yield f'<p class="missing">Missing: {html.prose(each.facts.missing)}.</p>'
    seconds = (each.end - each.start) / 1e9
    yield f"<figure>{_timeline(each)}<figcaption>{seconds:.3f} s, from left to right.</figcaption></figure>"
    yield html.table(
        ["Limit", "Time", "What the packets show"],
        [
            [_keyed(limit), html.prose(f"{tenths / 10:.1f} %"), html.prose(display.evidence(each, limit))]
            for limit, tenths in zip(each.shares, percents(each.shares.values(), 1000), strict=True)
        ],
    )
    rows = [
        [_keyed(part.limit) if column == 2 else escape(text) for column, text in enumerate(display.row(each, part))]
        for part in each.stretches[:ROWS]
    ]
    more = (
        f"<p>{len(each.stretches) - ROWS:,} more stretches are in the JSON.</p>" if len(each.stretches) > ROWS else ""
    )
    count = len(each.stretches)
    head = ["From (s)", "For (s)", "Limit", "Rate", "In flight (B)", "RTT", "Packets"]
    yield html.folded("1 stretch" if count == 1 else f"{count} stretches", html.table(head, rows) + more)


def _keyed(limit: Limit) -> str:
    return f'<span class="limit-key {_slug(limit)}"></span>{escape(limit.value)}'


def _timeline(each: Explanation) -> str:
    """Return the timeline. Stretches too short to be seen are joined with their predecessors in the picture."""
    total = max(each.end - each.start, 1)
    parts, last = [], -1.0
    for part in each.stretches:
        left = _WIDTH * (part.start - each.start) / total
        if left < last + 0.5:
            continue
        last = left
        words = f"{part.limit.value}, {(part.start - each.start) / 1e9:.3f} s to {(part.end - each.start) / 1e9:.3f} s"
        parts.append(
            f'<rect class="{_slug(part.limit)}" x="{left:.1f}" y="0" width="{_WIDTH - left:.1f}" height="{_HEIGHT}">'
            f"<title>{escape(words)}</title></rect>"
        )
    shares = ", ".join(f"{limit.value} {percent} %" for limit, percent in each.percents.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'preserveAspectRatio="none" aria-label="{escape(shares)}">{"".join(parts)}</svg>'
    )
