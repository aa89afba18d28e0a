"""Write a page for each trial of a report: its inputs, its outputs, and files for other programs."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from html import escape
from mmap import ACCESS_READ, mmap
from pathlib import Path
from time import gmtime, strftime
from types import MappingProxyType
from typing import Any

from lab.base.version import series
from lab.errors import LabError
from lab.guest import outputs
from lab.guest.trial import Trial
from lab.metric.pcap import beginning
from lab.record.record import Record
from lab.report import html, page, wording
from lab.report.colophon import cited_trial, kernels
from lab.report.commands import commands
from lab.report.diagram import diagram
from lab.report.evidence import copy_of
from lab.report.flow import DrawnFlow, flow_of
from lab.report.settings import told
from lab.report.timeline import timeline
from lab.report.tools import commands_of
from lab.units import Size, Value

_PACKETS, _HEADERS = 5_000, 128  # the copied part of a capture: packets, and bytes of each
_CLOCK = (
    "every guest in virtual time starts at the same date, so that its outputs have the same bytes on any day; dates in "
    "outputs and in names of files are the guest's, not the day of the run"
)
_NO_CAPTURE = 'No packets were captured. The figures come from the trial\'s <a href="#outputs">outputs</a>.'
_LISTED = 20  # packets in place of a chart
_LEVEL = 6  # of compression: level 9 takes three times as long to save a few per cent
_COPIED = 200_000  # bytes: the copy of a longer output is packed
_POINTS = "timeline.csv"  # the points of the chart; no output of a trial has this name
_DIGITS = 12  # of an address, which identify a trial
_TOGETHER = 4  # pages that a process writes before it takes others
_MOST = 20_000_000  # bytes: a longer output is copied up to here


class TrialPages:
    """Writes the pages of trials to `folder`/trials in other processes, while this process goes on."""

    def __init__(self, folder: Path, pool: ProcessPoolExecutor) -> None:
        self._folder, self._pool = folder, pool
        self._known: set[str] = set()
        self._tasks: list[Future[None]] = []

    def add(self, records: Iterable[Record], answers: Mapping[str, str] = MappingProxyType({})) -> None:
        """Begin to write the pages of these records, except those that were added before.

        `answers` holds the first part of each page, which `lab.report.answer` makes, by the trial's address.
        """
        fresh = [each for each in records if each.address not in self._known]
        if fresh and not self._known:
            (self._folder / "trials").mkdir(parents=True)
            page.write_shared(self._folder)
        self._known.update(each.address for each in fresh)
        jobs = [(each.folder, answers.get(each.address, "")) for each in fresh]
        for start in range(0, len(jobs), _TOGETHER):
            some = jobs[start : start + _TOGETHER]
            self._tasks.append(self._pool.submit(_write, self._folder / "trials", some))

    def __len__(self) -> int:
        return len(self._known)

    def finish(self) -> None:
        """Wait until all pages are written. Raises the errors of writing."""
        for task in self._tasks:
            task.result()


def _write(folder: Path, jobs: Iterable[tuple[Path, str]]) -> None:
    for source, answer in jobs:
        with Record(source).unpacked() as whole:  # removed after this page, unlike `path`
            _written(folder, Record(whole), answer)


def _written(folder: Path, record: Record, answer: str) -> None:
    place = folder / record.address
    place.mkdir(parents=True)
    for name in ("trial.json", "record.json"):
        shutil.copyfile(record.folder / name, place / name)
    for name, output in record.outputs.items():
        target = place / _kept(name, output.bytes)
        target.parent.mkdir(parents=True, exist_ok=True)  # each of several flows has its own folder
        if outputs.captures([name]):
            target.write_bytes(gzip.compress(_beginning(record.path(name)), _LEVEL, mtime=0))
        elif target.name == place.joinpath(name).name:
            shutil.copyfile(record.path(name), target)
        else:
            target.write_bytes(gzip.compress(_start(record.path(name)), _LEVEL, mtime=0))
    (place / "index.html").write_text(_page(record, place, answer), encoding="utf-8")


def _kept(name: str, size: int) -> str:
    """Return the name of an output's copy: packed, if the output is a capture or long."""
    return copy_of(name) if outputs.captures([name]) or (size > _COPIED and not name.endswith(".gz")) else name


def _start(file: Path) -> bytes:
    with file.open("rb") as data:
        return data.read(_MOST)


def _beginning(capture: Path) -> bytes:
    """Return the first part of a capture, which is copied, without reading the rest."""
    with capture.open("rb") as file:
        if not capture.stat().st_size:
            return b""
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return beginning(data, _PACKETS, _HEADERS)


def _page(record: Record, place: Path, answer: str) -> str:
    trial = record.trial
    article, _, claim = trial.claim.partition("/")
    ways = (
        '<a href="../../index.html">All articles</a>'
        f'<a href="../../{escape(article)}.html">{escape(article)}</a>'
        f'<a href="../../{escape(article)}.html#{escape(claim)}">{escape(claim)}</a><span>trial</span>'
    )
    return page.document(
        _title(trial), ways, "\n".join(_body(record, place, answer)), "../../page.css", "../../page.js"
    )


def _title(trial: Trial) -> str:
    return f"{trial.claim}: {trial.arm}" + (f" at {wording.typeset(trial.point)}" if trial.point else "")


def _body(record: Record, place: Path, answer: str) -> Iterator[str]:
    trial = record.trial
    days = record.started[:10] or "date unknown"
    yield (
        f'<p class="source">{escape(kernels([record]))}, {escape(trial.on)}, '
        f"{trial.clock} time, seed {trial.seed}; run {escape(days)}<br>Trial <code>{record.address}</code></p>"
    )
    captures = outputs.captures(record.outputs)
    flows = {name: flow_of(record, name) for name in captures}
    best = max(captures, key=lambda name: _rank(flows[name]), default="")
    yield _at_hand(record, best, flows.get(best), place)
    yield from (f'<p class="missing">{html.badge("invalid")} {html.prose(reason)}</p>' for reason in record.invalid)
    yield answer
    yield from _over_time(record, flows.get(best), place, best)
    yield from _setup(record)
    for name in sorted(captures, key=lambda name: name != best):
        yield from _packets(record, name, flows[name], place)
    yield from _inputs(record)
    yield from _environment(record)
    yield from _outputs(record)
    if not answer:
        yield cited_trial(record, _title(trial))


def _rank(flow: DrawnFlow | None) -> tuple[bool, bool]:
    """Return how well a capture shows the whole trial: the sender's capture has round trips and the bytes in flight."""
    return flow is not None and flow.is_bulk, flow is not None and flow.at_sender


def _at_hand(record: Record, capture: str, flow: DrawnFlow | None, place: Path) -> str:
    """Return the line below the title: the packets, the dates that they have, and the way to cite the trial."""
    said = [_wireshark(record, capture, flow, place)] if capture else [_NO_CAPTURE]
    if flow:
        where, how = (f"#{escape(capture)}", "drawn") if flow.seconds > 0 else ("#time", "in their order")
        said.append(f'<a href="{where}">The first packets, {how}.</a>')
    if record.trial.clock == "virtual" and flow:
        day = strftime("%Y-%m-%d", gmtime(flow.connection.start_ns // 10**9))
        said.append(f'Its packets have <a href="#environment">the guest\'s date</a>, {day}.')
    said.append('<a href="#cite">Cite</a>')
    return f'<p class="about at-hand">{" ".join(said)}</p>'


def _over_time(record: Record, flow: DrawnFlow | None, place: Path, capture: str) -> Iterator[str]:
    """Yield the chart of the whole trial, or the reason for its absence and the order of the first packets."""
    yield html.heading("time", "The whole trial", "Over time")
    if found := timeline(record, flow):
        (place / _POINTS).write_text(found.csv, encoding="utf-8")
        sampled = "" if flow is None or flow.samples else " The congestion window was not sampled."
        sampled += " Of several flows, the chart shows the one with the most data." if _has_several(record) else ""
        yield (
            f'<figure class="over-time">{found.drawn}<figcaption>Goodput: means from one burst to a later one.'
            f'{sampled} <a href="{_POINTS}">CSV</a></figcaption></figure>'
        )
    elif flow:
        yield f"<p>{_no_chart(record, flow)} These are the first packets, in their order.</p>"
        listed = "\n".join(["packet, time since the first data, ports, flags, payload", *flow.packets(_LISTED)])
        yield f'<pre class="listing" tabindex="0" role="region" aria-label="Packets">{escape(listed)}</pre>'
    elif capture:
        yield "<p>There is no chart over time, because the captured packets carry no data of a TCP connection.</p>"
    else:
        yield "<p>There is no chart over time, because the trial has neither a capture nor samples of a TCP flow.</p>"


def _no_chart(record: Record, flow: DrawnFlow) -> str:
    """Return the reason for which a flow has no chart over time."""
    segments = f"{flow.segments:,} data segment{'' if flow.segments == 1 else 's'}"
    if flow.seconds <= 0:
        why = " In virtual time, hosts and wires without delay cost no time." if record.trial.clock == "virtual" else ""
        return f"There is no chart over time, because {segments} were seen at the same instant.{why}"
    seconds = wording.figure(Value(flow.seconds, "s"))
    return f"There is no chart over time, because this is a short exchange: {segments} within {seconds}."


def _has_several(record: Record) -> bool:
    return len(record.trial.workload.get("flows", ())) > 1


def _wireshark(record: Record, name: str, flow: DrawnFlow | None, place: Path) -> str:
    """Return the link to a capture's copy, with what the copy holds."""
    packets = f"{min(_PACKETS, len(flow.capture)):,} of {len(flow.capture):,} packets" if flow else "the first packets"
    copied = (place / copy_of(name)).stat().st_size
    snap = _snap_of(record, name)
    whole = f"the whole capture has {record.outputs[name].bytes:,} B, and <code>lab run</code> writes it"
    if flow and len(flow.capture) <= _PACKETS and snap and snap <= _HEADERS:
        whole = f"the whole capture: {record.outputs[name].bytes:,} B unpacked"
    return (
        f'<a href="{escape(copy_of(name))}">Packets for Wireshark</a> ({packets}, at most '
        f"{min(_HEADERS, snap or _HEADERS)} B of each; {copied / 1000:,.0f} kB; {whole})."
    )


def _snap_of(record: Record, name: str) -> int | None:
    """Return how many bytes of each packet the probe kept in this capture, or None if it kept all."""
    snaps = [
        Size.of(probe["snap"]).bytes
        for probe in record.trial.probes
        if "snap" in probe and outputs.capture(str(probe["node"]), str(probe["interface"])) == name
    ]
    return min(snaps, default=None)


def _setup(record: Record) -> Iterator[str]:
    """Yield the traffic's commands, the network, and the command that runs the trial again."""
    trial = record.trial
    yield html.heading("setup", "Traffic and network", "Traffic")
    said = list(commands_of(record))
    lines = "\n".join(f"{host}# {command}" for host, command in said if host)
    told = "".join(f"<p>The lab's own sender: {wording.typeset(escape(text))}.</p>" for host, text in said if not host)
    yield (f'<pre tabindex="0" role="region" aria-label="Traffic">{escape(lines)}</pre>' if lines else "") + told
    network = record.network
    yield html.scrolled(diagram(network, network["nodes"][0]["name"]), "Topology")
    if trial.clock == "virtual":
        one = f"lab verify --only {record.address[:_DIGITS]}"
        alone = "Run only this trial again, and compare its bytes with its record in results/"
        yield f'<p class="about">{alone}: {html.code(one)}</p>'
    whole = "Run the trial's whole claim again, with all outputs of all its trials"
    yield f'<p class="about">{whole}: {html.code(_again(trial))}</p>'


def _again(trial: Trial) -> str:
    """Return the command that runs the trial's claim again with the trial's seed, place and clock."""
    given = [f"--seed {trial.seed}"] if trial.seed != 1 else []
    given += [f"--on {trial.on}"] if trial.on != "uml" else []
    given += [f"--clock {trial.clock}"] if trial.on == "uml" and trial.clock == "real" else []
    given += [f"--repeat {trial.repeat + 1}"] if trial.repeat else []
    given += [f"--kernel {series(str(trial.kernel['version']))}"] if trial.on == "uml" else []
    return " ".join(["lab run", trial.claim, *given, "--results again"])


def _packets(record: Record, name: str, flow: DrawnFlow | None, place: Path) -> Iterator[str]:
    """Yield the folded time-sequence graph of a capture."""
    if flow is None:
        yield f'<p id="{escape(name)}">{escape(name)}: {_wireshark(record, name, flow, place)}</p>'
        return
    said = "Time-sequence graph. Each bar is a segment, with its bytes on the vertical axis."
    graph = f"<figure>{flow.sequence()}<figcaption>{said}</figcaption></figure>" if flow.seconds > 0 else ""
    link = f'<p id="{escape(name)}">{_wireshark(record, name, flow, place)}</p>'
    yield html.folded(f"Packets: {name}", link + graph)


def _inputs(record: Record) -> Iterator[str]:
    trial = record.trial
    yield html.heading("inputs", "Inputs")
    rows = [
        ["Kernel", escape(f"Linux {trial.kernel['version']}, HZ {trial.kernel['hz']}, id {trial.kernel['id']}")],
        ["Patches", escape(", ".join(trial.kernel.get("patches", ())) or "none")],
        ["Runs on", escape(f"{trial.on}, {trial.clock} time, {trial.fabric} fabric")],
        ["Seed", f"{trial.seed}, repeat {trial.repeat}"],
        ["Programs", escape(f"userland {trial.userland}")],
        *(["Probe", _said(probe)] for probe in trial.probes),
        *(["Middlebox", _said(box)] for box in trial.middleboxes),
        ["Experiment", f"<code>{trial.source_sha256}</code> (SHA-256 of its code and patches)"],
    ]
    yield html.table(["Part", "Value"], rows, "bed")
    network = record.network
    try:
        wires = record.json(outputs.QDISCS_BEFORE)
    except LabError:
        wires = []
    made = f'<pre tabindex="0" role="region" aria-label="Commands">{escape(commands(network, wires))}</pre>'
    yield html.folded("Commands that make a similar network by hand", made)
    yield '<p>All inputs: <a href="trial.json">trial.json</a></p>'


def _environment(record: Record) -> Iterator[str]:
    yield html.heading("environment", "Environment, read back from the guest")
    found = record.environment
    is_virtual = record.trial.clock == "virtual"
    rows = [["Kernel", escape(str(found.get("kernel", wording.DASH)))]]
    rows += [["Clock of the guest", _CLOCK]] if is_virtual else []
    rows += [["Busy waits", _spun(spin)] for spin in found.get("spins", ())]
    rows += [["Run on", escape(record.started[:10] or wording.DASH) + _performed_for(record)]]
    yield html.table(["Part", "Value"], rows, "bed")
    settings = found.get("sysctls", {})
    names = sorted({name for host in settings.values() for name in host})
    if names:
        shown = html.table(
            ["Setting", *settings],
            [[html.code(name), *(escape(host.get(name, "")) for host in settings.values())] for name in names],
        )
        yield html.folded(f"{len(names)} settings of the kernel", html.scrolled(shown, "Settings"))


def _spun(spin: Mapping[str, Any]) -> str:
    """Return which program called which system call in a loop, how often, and for how long."""
    seconds = wording.figure(Value(float(spin.get("seconds", 0)), "s"))
    return escape(f"{spin.get('program')} called {spin.get('call')} {spin.get('times')} times, for {seconds}")


def _performed_for(record: Record) -> str:
    """Return the trial whose run this record shares, or ""."""
    return f", one run for this trial and <code>{escape(record.run_of)}</code>" if record.run_of else ""


def _outputs(record: Record) -> Iterator[str]:
    yield html.heading("outputs", "Outputs")
    yield '<p class="about">Bytes and SHA-256 are those of the whole file in the store.</p>'
    rows = []
    for name, output in record.outputs.items():
        kept = _kept(name, output.bytes)
        is_cut = bool(outputs.captures([name])) or output.bytes > _MOST
        form = "" if kept == name else " (its start, compressed)" if is_cut else " (compressed)"
        link = f'<a href="{escape(kept)}">{escape(name)}</a>{form}'
        rows.append([link, f"{output.bytes:,}", html.code(output.sha256)])
    yield html.table(["File", "Bytes", "SHA-256"], rows, "bed")
    yield '<p>All of it: <a href="record.json">record.json</a></p>'


def _said(plain: object) -> str:
    """Return settings in plain form, or any JSON, as text."""
    return escape(wording.typeset(told(plain) if isinstance(plain, dict) else json.dumps(plain)))
