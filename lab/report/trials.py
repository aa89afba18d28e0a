"""Write a page for each trial of a report: its inputs, its outputs, and files for other programs."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from html import escape
from itertools import chain
from mmap import ACCESS_READ, mmap
from os import sched_getaffinity
from pathlib import Path

from lab.errors import LabError
from lab.guest import outputs
from lab.metric.pcap import beginning
from lab.record.record import Record
from lab.report import html, page, wording
from lab.report.commands import commands
from lab.report.diagram import diagram
from lab.report.evidence import again, copy_of
from lab.report.flow import flow_of
from lab.report.settings import told

_PACKETS, _HEADERS = 5_000, 128  # the copied part of a capture: packets, and bytes of each
_LEVEL = 6  # of compression: level 9 takes three times as long to save a few per cent
_COPIED = 200_000  # bytes: a longer output is only named
_BINARY = (".pcap", ".bin", ".gz")


def write(records: Iterable[Record], folder: Path) -> None:
    """Write the pages of these records to `folder`/trials, several at a time."""
    (folder / "trials").mkdir(parents=True)
    (folder / "page.css").write_text(page.style(), encoding="utf-8")
    with ProcessPoolExecutor(len(sched_getaffinity(0))) as pool:
        for _ in pool.map(partial(_write, folder / "trials"), [record.folder for record in records], chunksize=4):
            pass


def _write(folder: Path, source: Path) -> None:
    with Record(source).unpacked() as whole:  # removed after this page, unlike `path`
        _written(folder, Record(whole))


def _written(folder: Path, record: Record) -> None:
    place = folder / record.address
    place.mkdir(parents=True)
    for name in ("trial.json", "record.json"):
        shutil.copyfile(record.folder / name, place / name)
    for name, output in record.outputs.items():
        if outputs.captures([name]):
            (place / copy_of(name)).write_bytes(gzip.compress(_beginning(record.path(name)), _LEVEL, mtime=0))
        elif not name.endswith(_BINARY) and output.bytes <= _COPIED:
            (place / name).parent.mkdir(parents=True, exist_ok=True)  # each of several flows has its own folder
            shutil.copyfile(record.path(name), place / name)
    (place / "index.html").write_text(_page(record, place), encoding="utf-8")


def _beginning(capture: Path) -> bytes:
    """Return the first part of a capture, which is copied, without reading the rest."""
    with capture.open("rb") as file:
        if not capture.stat().st_size:
            return b""
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return beginning(data, _PACKETS, _HEADERS)


def _page(record: Record, place: Path) -> str:
    trial = record.trial
    article, _, claim = trial.claim.partition("/")
    title = f"{trial.claim}: {trial.arm}" + (f" at {wording.typeset(trial.point)}" if trial.point else "")
    ways = (
        '<a href="../../index.html">All articles</a>'
        f'<a href="../../{escape(article)}.html">{escape(article)}</a>'
        f'<a href="../../{escape(article)}.html#{escape(claim)}">{escape(claim)}</a><span>trial</span>'
    )
    return page.document(title, ways, "\n".join(_body(record, place)), "../../page.css")


def _body(record: Record, place: Path) -> Iterator[str]:
    yield f'<p class="source">Trial <code>{record.address}</code></p>'
    yield from (f'<p class="missing">{html.badge("invalid")} {html.prose(reason)}</p>' for reason in record.invalid)
    captures = outputs.captures(record.outputs)
    yield from chain.from_iterable(_capture(record, name, place) for name in captures)
    if not captures:
        found = '<a href="#outputs">outputs</a>'
        yield f"<p>No packets were captured: what programs and the kernel report is in the {found}.</p>"
    yield from _inputs(record)
    yield from _environment(record)
    yield from _outputs(record, place)


def _capture(record: Record, name: str, place: Path) -> Iterator[str]:
    """Yield the figures drawn from a capture, and the link to the capture's copy."""
    yield html.heading(name, escape(name))
    flow = flow_of(record, name)
    packets = (
        f"the first {min(_PACKETS, len(flow.capture)):,} of {len(flow.capture):,} packets" if flow else "its packets"
    )
    copied = (place / copy_of(name)).stat().st_size
    yield (
        f'<p><a href="{escape(copy_of(name))}">Open in Wireshark</a> ({packets}, {_HEADERS} bytes of each at most; '
        f"{copied / 1000:,.0f} kB). {again(record.trial.claim)} writes the whole capture: "
        f"{record.outputs[name].bytes / 1e6:.3g} MB.</p>"
    )
    if flow is None:
        return
    said = "Time-sequence graph. Each bar is a segment, with its bytes on the vertical axis."
    yield f"<figure>{flow.sequence()}<figcaption>{said}</figcaption></figure>"
    if flow.is_bulk:
        sampled = "" if flow.samples else " The congestion window was not sampled."
        yield f"<figure>{flow.bounds()}<figcaption>The limits of the flow over time.{sampled}</figcaption></figure>"


def _inputs(record: Record) -> Iterator[str]:
    trial = record.trial
    yield html.heading("inputs", "Inputs")
    rows = [
        ["Kernel", escape(f"Linux {trial.kernel['version']}, HZ {trial.kernel['hz']}, id {trial.kernel['id']}")],
        ["Patches", escape(", ".join(trial.kernel.get("patches", ())) or "none")],
        ["Runs on", escape(f"{trial.on}, {trial.clock} time, {trial.fabric} fabric")],
        ["Seed", f"{trial.seed}, repeat {trial.repeat}"],
        ["Programs", escape(f"userland {trial.userland}")],
        ["Traffic", _said(trial.workload)],
        *(["Probe", _said(probe)] for probe in trial.probes),
        *(["Middlebox", _said(box)] for box in trial.middleboxes),
        ["Experiment", f"<code>{trial.source_sha256}</code> (SHA-256 of its code and patches)"],
    ]
    yield html.table(["Part", "Value"], rows, "bed")
    network = record.network
    yield html.scrolled(diagram(network, network["nodes"][0]["name"]), "Topology")
    yield "<p>Commands that make a similar network by hand:</p>"
    try:
        wires = record.json(outputs.QDISCS_BEFORE)
    except LabError:
        wires = []
    yield f'<pre tabindex="0">{escape(commands(network, wires))}</pre>'
    yield '<p>All inputs: <a href="trial.json">trial.json</a></p>'


def _environment(record: Record) -> Iterator[str]:
    yield html.heading("environment", "Environment, read back from the guest")
    found = record.environment
    rows = [["Kernel", escape(str(found.get("kernel", wording.DASH)))]]
    rows += [["Spun", _said(spin)] for spin in found.get("spins", ())]
    rows += [["Run", escape(record.started[:10] or wording.DASH) + _performed_for(record)]]
    yield html.table(["Part", "Value"], rows, "bed")
    settings = found.get("sysctls", {})
    names = sorted({name for host in settings.values() for name in host})
    if names:
        shown = html.table(
            ["Setting", *settings],
            [[html.code(name), *(escape(host.get(name, "")) for host in settings.values())] for name in names],
        )
        yield html.folded(f"{len(names)} settings of the kernel", shown)


def _performed_for(record: Record) -> str:
    """Return the trial whose run this record shares, or ""."""
    return f", one run for this trial and <code>{escape(record.run_of)}</code>" if record.run_of else ""


def _outputs(record: Record, place: Path) -> Iterator[str]:
    yield html.heading("outputs", "Outputs")
    rows = []
    for name, output in record.outputs.items():
        kept = name if (place / name).is_file() else copy_of(name) if (place / copy_of(name)).is_file() else ""
        link = f'<a href="{escape(kept)}">{escape(name)}</a>' if kept else escape(name)
        rows.append([link, f"{output.bytes:,}", html.code(output.sha256)])
    yield html.table(["File", "Bytes", "SHA-256"], rows, "bed")
    yield '<p>All of it: <a href="record.json">record.json</a></p>'


def _said(plain: object) -> str:
    """Return settings in plain form, or any JSON, as text."""
    return escape(wording.typeset(told(plain) if isinstance(plain, dict) else json.dumps(plain)))
