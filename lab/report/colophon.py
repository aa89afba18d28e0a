"""Describe a report for a reader who wants to cite it: the lab's version, the kernels, the runs, and BibTeX entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib.metadata import PackageNotFoundError, version

from lab.record.record import Record
from lab.report import html, wording

_ENTRY = """\
@software{{replab,
  title = {{replab: a network lab whose results anyone can reproduce to the byte}},
  author = {{{{The replab developers}}}},
  version = {{{version}}},
{year}  note = {{{note}}}
}}"""


def colophon(records: Iterable[Record]) -> str:
    """Return the section as HTML, or "" without records. The same records give the same bytes."""
    shown = list(records)
    if not shown:
        return ""
    facts = dict(_facts(shown))
    listed = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    note = f"{facts['Kernel']}; run {facts['Run']}".replace("{", "").replace("}", "")
    entry = escape(_ENTRY.format(version=_version(), year=_year(facts["Run"]), note=note))
    return "\n".join(
        [
            html.heading("cite", "About this report", "About"),
            f"<dl>{listed}</dl>",
            "<p>To cite one figure, give its claim and its trial's address. To cite this report:</p>",
            f'<pre tabindex="0" role="region" aria-label="BibTeX"><code>{entry}</code></pre>\n',
        ]
    )


def imprint(records: Iterable[Record], cite: str, packets: str) -> str:
    """Return one line with the kernels, the days and the version, and links to `cite` and to the list with `packets`.

    "" without records.
    """
    shown = list(records)
    if not shown:
        return ""
    facts = dict(_facts(shown))
    kernels = wording.listed(sorted(f"Linux {record.trial.kernel['version']}" for record in shown))
    said = escape(f"{kernels} · run {facts['Run']} · {facts['Lab']}")
    targets = {"Packets": packets, "Cite": cite}
    links = "".join(f' · <a href="{escape(to)}">{name}</a>' for name, to in targets.items() if to)
    return f'<p class="source">{said}{links}</p>'


def _year(days: str) -> str:
    """Return the entry's line with the year of the last run, or "" if the date is unknown."""
    year = days.split(" ")[-1][:4]
    return f"  year = {{{year}}},\n" if year.isdigit() else ""


def _facts(records: list[Record]) -> Iterator[tuple[str, str]]:
    kernels = {(trial.kernel["version"], trial.kernel["hz"]) for trial in (record.trial for record in records)}
    days = sorted({record.started[:10] for record in records if record.started})
    yield "Kernel", wording.listed(f"Linux {number}, HZ {hz}" for number, hz in sorted(kernels))
    yield "Trials", f"{wording.plural(len(records), 'trial')} with a page here"
    yield "Run", " to ".join(dict.fromkeys([days[0], days[-1]])) if days else "date unknown"
    yield "Lab", f"replab {_version()}"


def _version() -> str:
    try:
        return version("replab")
    except PackageNotFoundError:  # the code of a bundle is not installed
        return "from a bundle"
