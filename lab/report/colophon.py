"""Describe a report for a reader who wants to cite it, or a part of it: version, kernels, runs, and BibTeX entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from lab.record.record import Record
from lab.report import html, wording

_LAB = "replab: a network lab whose results anyone can reproduce to the byte"
_HOW = (
    "<p>Of several trials that differ in their seed, only the first has a page. To cite one figure, use the entry on "
    "the page of its trial. To cite a claim, use the entry in its section. To cite the lab and this run of it:</p>"
)
_DIGITS = 12  # of a trial's address, in a BibTeX key
_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{each: f"\\{each}" for each in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def colophon(records: Iterable[Record]) -> str:
    """Return the index's section as HTML, or "" without records. The same records give the same bytes."""
    shown = list(records)
    if not shown:
        return ""
    facts = {**dict(_facts(shown)), "Trials": f"{wording.plural(len(shown), 'trial')} with a page here"}
    listed = "".join(f"<dt>{name}</dt><dd>{escape(facts[name])}</dd>" for name in ("Kernel", "Trials", "Run", "Lab"))
    return "\n".join(
        [
            html.heading("cite", "About this report", "About"),
            f"<dl>{listed}</dl>",
            _HOW,
            _entry("replab", "software", _LAB, "", shown, "index.html"),
            "\n",
        ]
    )


def citation(key: str, title: str, records: Iterable[Record], page: str) -> str:
    """Return what a reader would cite of an article, a claim or a trial, in words and as BibTeX; "" without records.

    `key` names the part, and `page` is the part's address in the report. A trial's page has one record, and so the
    trial's address.
    """
    shown = list(records)
    if not shown:
        return ""
    facts = dict(_facts(shown))
    said = f"“{title.rstrip('.')}”. {facts['Lab']}, {facts['Kernel']}, run {facts['Run']}."
    where = f'<a href="{escape(page.rpartition("/")[2])}">{escape(page)}</a>'
    return f'<p class="cited">{escape(said)} {escape(_which(shown))} In the report: {where}</p>' + _entry(
        f"replab-{key}", "misc", title, _which(shown), shown, page
    )


def cited_trial(record: Record, title: str) -> str:
    """Return the folded part of a trial's page that a reader would cite. `title` says what the trial showed."""
    address = record.address
    said = citation(f"trial-{address[:_DIGITS]}", title, [record], f"trials/{address}/index.html")
    return html.folded("How to cite this trial", f'<div id="cite">{said}</div>')


def imprint(records: Iterable[Record], cite: str, packets: str) -> str:
    """Return one line with the kernels, trials, days and version, and links to `cite` and to the list with `packets`.

    "" without records.
    """
    shown = list(records)
    if not shown:
        return ""
    facts = dict(_facts(shown))
    said = escape(f"{kernels(shown, named=False)} · {facts['Trials']}, run {facts['Run']} · {facts['Lab']}")
    targets = {"Packets": packets, "Cite": cite}
    links = "".join(f' · <a href="{escape(to)}">{name}</a>' for name, to in targets.items() if to)
    return f'<p class="source">{said}{links}</p>'


def kernels(records: Iterable[Record], named: bool = True) -> str:
    """Return every kernel of these records as text: version, ticks per second and patches, in the same words anywhere.

    If not `named`, the text tells that there are patches, without their names. "" without records.
    """
    ticks: dict[str, set[int]] = {}
    patched: dict[str, set[str]] = {}
    for kernel in (record.trial.kernel for record in records):
        number = str(kernel["version"])
        ticks.setdefault(number, set()).add(int(kernel["hz"]))
        patched.setdefault(number, set()).add(" and ".join(map(str, kernel.get("patches", ()))))
    return "; ".join(
        f"Linux {number}, HZ {' and '.join(map(str, sorted(ticks[number])))}{_patches(patched[number], named)}"
        for number in sorted(ticks)
    )


def _patches(found: set[str], named: bool) -> str:
    """Return the patches of kernels of one version, where "" stands for a kernel without any."""
    names = sorted(found - {""})
    if not names:
        return ""
    said = f"{'also ' if '' in found else ''}patched"
    return f", {said} with {', or with '.join(names)}" if named else f", {said}"


def _which(records: list[Record]) -> str:
    """Return the trial's address, or the number of trials if there are several."""
    addresses = {record.address for record in records}
    return f"Trial {addresses.pop()}." if len(addresses) == 1 else f"{len(addresses)} trials."


def _entry(key: str, kind: str, title: str, which: str, records: list[Record], page: str) -> str:
    """Return the BibTeX entry. If the page is on a web server, its script adds the address of the page."""
    facts = dict(_facts(records))
    note = " ".join(filter(None, [f"{facts['Kernel']}; run {facts['Run']}.", which]))
    fields = {
        "title": f"{{{title.translate(_TEX)}}}",
        "author": "{The replab developers}",
        "version": _version(),
        "year": _year(facts["Run"]),
        "howpublished": f"{page.translate(_TEX)} in a report made with {facts['Lab']}",
        "note": note.translate(_TEX),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    entry = escape(f"@{kind}{{{key},\n{lines}}}", quote=False)
    return (
        '<pre tabindex="0" role="region" aria-label="BibTeX">'
        f'<code class="bibtex" data-page="{escape(page.rpartition("/")[2])}">{entry}</code></pre>'
    )


def _year(days: str) -> str:
    """Return the year of the last run, or "" if the date is unknown."""
    year = days.split(" ")[-1][:4]
    return year if year.isdigit() else ""


def _facts(records: list[Record]) -> Iterator[tuple[str, str]]:
    days = sorted({record.started[:10] for record in records if record.started})
    yield "Kernel", kernels(records)
    yield "Trials", wording.plural(len({record.address for record in records}), "trial")
    yield "Run", " to ".join(dict.fromkeys([days[0], days[-1]])) if days else "date unknown"
    yield "Lab", f"replab {_version()}"


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # a fifteenth of all imports of a run

    try:
        return version("replab")
    except PackageNotFoundError:  # the code of a bundle is not installed
        return "from a bundle"
