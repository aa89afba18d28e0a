"""Write a page about a script's run: its network, output, files and traffic, and the command that runs it again."""

from __future__ import annotations

import base64
import io
import shlex
import tarfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from lab.base import writing
from lab.base.foreign import printable
from lab.errors import LabError
from lab.ext.mininet.drawing import drawn
from lab.ext.mininet.flows import MeasuredFlow, figure, flows
from lab.ext.mininet.networks import LOG, BuiltInterface, BuiltNetwork, direction, networks
from lab.ext.mininet.recorded import RecordedCommand, command_of, outcome_of
from lab.ext.mininet.running import ARCHIVE, FILES, SAID
from lab.guest.workload.program import content
from lab.record.record import Record, RecordError
from lab.report import html, layout, page
from lab.report.wording import DASH, plural
from lab.report.wording import figure as worded
from lab.units import Value

PICTURES = {".png": "png", ".svg": "svg+xml", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
MOST_EMBEDDED = 600_000  # bytes of all pictures, so that a page stays below 1.2 MB
MOST_TEXT = 60_000  # characters of the output, and of all other texts
MOST_ROWS = 12  # of a table that is not folded
NETWORKS = 4  # that the page shows
VERIFY = "<code>lab verify</code> runs the record again, and compares every byte"


def write(record: Record, file: Path) -> None:
    """Write the page. Raises MachineError if it cannot be written, and RecordError for a damaged record."""
    writing.write(render(record), file)


def render(record: Record, ways: str = "") -> str:
    """Return the page as one HTML file that needs no other files. `ways` holds links to the other pages of a report.

    Raises RecordError for a damaged record, or a record that is not of a script.
    """
    command, sources = command_of(record), sources_of(record)
    body = "\n".join(_body(record, command, sources))
    return page.single(shlex.join(command.words), ways or f"<span>{escape(command.words[0])}</span>", body)


def sources_of(record: Record) -> dict[str, bytes]:
    """Return the files of a script by path. Raises RecordError if the record is not of a script."""
    try:
        packed = io.BytesIO(content(record.trial.workload["contents"], ARCHIVE))
        with tarfile.open(fileobj=packed) as tar:
            files = {each.name: tar.extractfile(each) for each in tar if each.isreg()}
            return {name: file.read() for name, file in files.items() if file}
    except (LookupError, TypeError, ValueError, tarfile.TarError) as error:
        raise RecordError(f"{record.address[:12]} is not the record of a Mininet script: {error}") from None


def _body(record: Record, command: RecordedCommand, sources: dict[str, bytes]) -> Iterator[str]:
    yield from _summary(record, command.again)
    try:
        found = networks(record)
    except LabError as error:
        found = ()
        yield f'<p class="missing">{html.prose(str(error))}</p>'
    shown = {f" {each.number}" if len(found) > 1 else "": each for each in found[:NETWORKS]}
    for which, network in shown.items():
        yield from _network(network, which)
    if len(found) > NETWORKS:
        yield f"<p>The script built {plural(len(found), 'network')}. The first {NETWORKS} are shown here.</p>"
    if not found:
        yield '<p class="missing">The script built no network with the class <code>Mininet</code>.</p>'
    if LOG in record.outputs:
        yield f'<p class="missing">A part of the networks was not recorded: {html.prose(_clean(record.text(LOG)))}</p>'
    yield html.heading("output", "Standard output")
    said = _ends(record.path(SAID))
    yield f'<pre tabindex="0">{said}</pre>' if said.strip() else "<p>The script printed nothing.</p>"
    yield from _files(record)
    for which, network in shown.items():
        yield html.heading(f"traffic{which.strip()}", f"Traffic{f' of network{which}' if which else ''}", "Traffic")
        yield from _traffic(record, network)
    yield from _sources(sources, command.words[0])


def _summary(record: Record, again: str) -> Iterator[str]:
    trial = record.trial
    seconds = record.host.get("guest_seconds")
    took = f", after {worded(Value(float(seconds), 's'))} of its own time" if isinstance(seconds, int | float) else ""
    rows = [
        ("Outcome", escape(outcome_of(record) + took)),
        ("Run it again", html.code(again)),
        ("Record", f"{html.code(record.address)}<br><small>the same on every machine; {VERIFY}</small>"),
        ("Kernel", escape(f"Linux {trial.kernel.get('version')}, {trial.on}, {trial.clock} time, seed {trial.seed}")),
        ("Userland", html.code(trial.userland)),
    ]
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows) + "</dl>"
    yield from (f'<p class="missing">{html.badge("invalid")} {html.prose(reason)}</p>' for reason in record.invalid)


def _network(network: BuiltNetwork, which: str) -> Iterator[str]:
    yield html.heading(f"network{which.strip()}", f"Network{which}")
    if not network.moments:
        yield "<p>The script built this network, and neither started nor stopped it.</p>"
        return
    kinds = [node.kind for node in network.nodes]
    counts = [plural(kinds.count(kind), kind) for kind in ("host", "controller") if kind in kinds]
    if switches := kinds.count("switch"):
        counts.insert(1, "1 switch" if switches == 1 else f"{switches} switches")
    yield f"<p>{', '.join(counts)} and {plural(len(network.links), 'link')}, as Mininet had built them.</p>"
    try:
        yield drawn(network.plain(which.strip() or "network"))
        yield from _interfaces(network)
    except (ValueError, LabError) as error:  # msgspec's errors are ValueErrors
        yield f'<p class="missing">The network cannot be drawn: {html.prose(str(error))}</p>'


def _interfaces(network: BuiltNetwork) -> Iterator[str]:
    head = ["Interface", "Addresses", "Sends with", "Packets", "Drops"]
    rows = [
        [
            f"{escape(name)}" + ("" if name.startswith(node) else f" of {escape(node)}"),
            "<br>".join(map(escape, state.addresses)) or DASH,
            escape(layout.direction(direction(state))) + f"<br><small>{escape(_kinds(state))}</small>",
            *_counts(state),
        ]
        for (node, name), state in network.interfaces()
    ]
    table = html.table(head, rows)
    when = {"stop": "before the script stopped it", "exit": "at the script's end"}.get(
        network.moments[-1].moment, "when the script had started it"
    )
    said = f"{plural(len(rows), 'interface')} with their qdiscs and counters, {when}"
    yield html.folded(said, table) if len(rows) > MOST_ROWS else f"<p>{escape(said)}:</p>{table}"


def _kinds(state: BuiltInterface) -> str:
    return "exact wire" if state.wire else " > ".join(each.kind for each in state.qdiscs)


def _counts(state: BuiltInterface) -> tuple[str, str]:
    """Return the numbers of packets that the root qdisc sent and dropped. noqueue counts none."""
    for each in state.qdiscs:
        if each.root and each.kind != "noqueue":
            return f"{each.packets:,}", f"{each.drops:,}"
    return DASH, DASH


def _traffic(record: Record, network: BuiltNetwork) -> Iterator[str]:
    if not network.captures:
        yield '<p class="missing">Without captures, there are no figures of goodput, queues and round trips.</p>'
        return
    found = flows(record, network)
    ended = f" The captures were full before {network.missed:,} further packets." if network.missed else ""
    where = plural(len(network.captures), "interface")
    yield f"<p>{network.packets:,} packets were captured at {where} of hosts.{ended}</p>"
    if not found:
        yield "<p>No TCP or UDP flow carried data between hosts.</p>"
        return
    if drawing := figure(found):
        yield (
            f"<figure>{drawing}<figcaption>From the captures at the hosts. The time in queues is a segment's time from "
            "the sender's TCP to the receiver, above the shortest such time of its flow. Round trips are of segments "
            "that were sent once.</figcaption></figure>"
        )
    head = ["Flow", "Data", "Time", "Goodput", "Retransmitted", "Round trip", "In queues"]
    yield html.table(head, [_flow(each) for each in found[:MOST_ROWS]])
    if len(found) > MOST_ROWS:
        yield f"<p>The largest {MOST_ROWS} of {len(found)} flows.</p>"


def _flow(each: MeasuredFlow) -> list[str]:
    trips, queued = each.trips[1] / 1e9, each.queued[1] / 1e9
    return [
        f"{escape(each.name)}<br><small>{'UDP' if each.is_udp else 'TCP'}</small>",
        escape(worded(Value(each.payload, "B"))),
        escape(worded(Value(each.seconds, "s"))),
        escape(worded(Value(each.goodput, "bit/s"))) if each.goodput else DASH,
        DASH if each.is_udp else f"{each.retransmitted:,} of {each.segments:,}",
        _range(trips),
        f"at most {escape(worded(Value(float(queued.max()), 's')))}" if len(queued) else DASH,
    ]


def _range(seconds: Sequence[float]) -> str:
    """Return the smallest and the largest of these times."""
    if not len(seconds):
        return DASH
    least, most = (escape(worded(Value(float(each), "s"))) for each in (min(seconds), max(seconds)))
    return f"{least} to {most}"


def _files(record: Record) -> Iterator[str]:
    """Yield HTML for the files that the script wrote: pictures, folded texts, and the names of all other files."""
    names = sorted(name for name in record.outputs if name.startswith(FILES))
    if not names:
        return
    yield html.heading("files", "Files that the script wrote", "Files")
    embedded, texts = 0, 0
    for name in names:
        shown, size = name.removeprefix(FILES), record.outputs[name].bytes
        kind = PICTURES.get(Path(shown).suffix.lower())
        label = f"{shown}, {size:,} bytes"
        if kind and embedded + size <= MOST_EMBEDDED:
            embedded += size
            data = base64.b64encode(record.path(name).read_bytes()).decode()
            picture = f'<img src="data:image/{kind};base64,{data}" alt="{escape(shown)}">'
            yield f"<figure>{picture}<figcaption>{escape(label)}</figcaption></figure>"
        elif not kind and texts + size <= MOST_TEXT and (text := _text(record.path(name).read_bytes())) is not None:
            texts += size
            yield html.folded(label, f'<pre tabindex="0">{escape(text)}</pre>')
        else:
            yield f"<p>{escape(label)}</p>"


def _sources(sources: dict[str, bytes], script: str) -> Iterator[str]:
    if sources:
        yield html.heading("script", "Script" if script in sources else "Files of the command", "Script")
    for name in sorted(sources, key=lambda name: (name != script, name)):
        text = _text(sources[name][:MOST_TEXT])
        label = f"{name}, {len(sources[name]):,} bytes"
        yield html.folded(label, f'<pre tabindex="0">{escape(text)}</pre>') if text is not None else f"<p>{label}</p>"


def _text(content: bytes) -> str | None:
    """Return a file's text, or None if it is not text."""
    try:
        return _clean(content.decode()) if b"\0" not in content else None
    except UnicodeDecodeError:
        return None


def _ends(file: Path) -> str:
    """Return a text file as HTML. The middle of a long file is left out."""
    half, size = MOST_TEXT // 2, file.stat().st_size
    with file.open("rb") as source:
        parts = [source.read(half)]
        if size > 2 * half:
            parts.append(f"\n\n({size - 2 * half:,} bytes are left out)\n\n".encode())
            source.seek(-half, io.SEEK_END)
        parts.append(source.read(half))
    return escape(_clean(b"".join(parts).decode(errors="replace")))


def _clean(text: str) -> str:
    return printable(text.replace("\r", ""))
