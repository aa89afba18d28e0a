"""Render an executed notebook as a page: a single file that needs no other files and no network."""

from __future__ import annotations

import base64
import errno
import re
import tempfile
from collections.abc import Iterator, Mapping
from html import escape, unescape
from pathlib import Path
from typing import Any

from lab.errors import MachineError
from lab.report.arrange import arranged

SOURCE = "The notebook that makes this page"  # in the footer of each page of a report, which identifies such pages

_HERE = Path(__file__).parent
_HEADING = re.compile(r"<h2(?P<attributes>[^>]*)>(?P<text>.*?)</h2>", re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')


def render(
    notebook: Any, name: str, around: Mapping[str, str] | None = None, index: str = "", sections: str = ""
) -> str:
    """Return the page as HTML.

    `around` maps the names of the report's pages to titles, in order. `index` is the name of the page that lists all
    pages. `sections` is HTML that follows the notebook.
    """
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="template", extra_template_basedirs=[str(_HERE)], exclude_anchor_links=True, embed_images=True
    )
    title = title_of(notebook, name)
    resources = {
        "title": title,
        "style": style(),
        "script": script(),
    }
    body, _ = exporter.from_notebook_node(arranged(notebook), resources)
    body = str(body).replace("</main>\n", f"{sections}</main>\n", 1)
    head = _ways(name, title, around or {}, index) + _contents(body, around or {})
    foot = f"<footer>{_ways(name, title, around, index, 'Other pages')}{_code(name)}</footer>" if around else ""
    return body.replace("<body>\n", f"<body>\n<header>{head}</header>", 1).replace("</main>\n", f"</main>\n{foot}", 1)


def document(title: str, ways: str, body: str, sheet: str, script: str = "") -> str:
    """Return a page without a notebook.

    `ways` holds links to other pages, `sheet` is the address of the style sheet, and `script` that of the script.
    """
    end = f'<script src="{escape(script)}"></script>' if script else ""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{escape(title)}</title><link rel="stylesheet" href="{escape(sheet)}"></head><body>',
            f'<header><nav aria-label="Pages" class="ways">{ways}</nav></header>',
            f'<main id="top"><h1>{escape(title)}</h1>',
            body,
            f"</main>{end}</body></html>",
        ]
    )


def single(title: str, ways: str, body: str, own_style: str = "") -> str:
    """Return a page without a notebook that needs no other files. `own_style` follows the style sheet of all pages."""
    sheet = base64.b64encode((style() + own_style).encode()).decode()
    return document(title, ways, body, f"data:text/css;base64,{sheet}")


def require_place(file: Path) -> None:
    """Create the folder of a page, before the work that the page shows. Raises MachineError if the page has no place.

    An existing file stays.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, "this is a folder; name a file")
        if file.is_file() or not file.exists():
            tempfile.TemporaryFile(dir=file.resolve().parent).close()
    except OSError as error:
        raise MachineError(f"cannot write {file}: {error.strerror or error}") from None


def style() -> str:
    """Return the style sheet of all pages."""
    return (_HERE / "template" / "page.css").read_text(encoding="utf-8")


def embedded(body: str) -> str:
    """Return a part of a page as Jupyter shows it, with the style sheet for this part alone."""
    sheet = style().replace(":root", ":scope").replace("body {", ":scope {").replace("main {", ":scope {")
    scoped = f"@scope (.replab) {{\n{sheet}:scope {{ padding: 0 1rem; }}\n}}"
    return f'<div class="replab"><style>\n{scoped}\n</style>\n{body}</div>'


def script() -> str:
    """Return the script of all pages, which they can do without."""
    return (_HERE / "template" / "page.js").read_text(encoding="utf-8")


def write_shared(folder: Path) -> None:
    """Write the style sheet and the script that pages without a notebook share."""
    (folder / "page.css").write_text(style(), encoding="utf-8")
    (folder / "page.js").write_text(script(), encoding="utf-8")


def title_of(notebook: Any, name: str) -> str:
    """Return the title in a notebook's metadata, else its `name`."""
    return str(notebook.metadata.get("title", name))


def _ways(name: str, title: str, around: Mapping[str, str], index: str, label: str = "Pages") -> str:
    """Return the links to the index, and to the previous and next page. Screen readers announce the `label`."""
    if not around:
        return ""
    order = [each for each in around if each != index]  # all pages link to the index anyway
    place = order.index(name) if name in order else -1
    links = [] if name == index else [f'<a href="{escape(index)}.html">All articles</a>']
    links.append(f"<span>{escape(_brief(title))}</span>")
    for step, arrow, rel in ((-1, "← {}", "prev"), (1, "{} →", "next")):
        if place >= 0 and 0 <= place + step < len(order):
            other = order[place + step]
            links.append(
                f'<a rel="{rel}" href="{escape(other)}.html">{arrow.format(escape(_brief(around[other])))}</a>'
            )
    return f'<nav aria-label="{label}" class="ways">{"".join(links)}</nav>'


def _brief(title: str) -> str:
    """Return the part of a title before its colon."""
    return title.partition(":")[0]


def _contents(body: str, around: Mapping[str, str]) -> str:
    """Return links to the page's sections, with short names. A section about another page has that page's name."""
    named = {page: escape(_brief(title)) for page, title in around.items()}
    links = [f'<a href="#{anchor}">{named.get(anchor, name)}</a>' for anchor, name in _sections(body)]
    return f'<nav aria-label="On this page" class="contents">{"".join(links)}</nav>' if len(links) > 1 else ""


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Yield the anchor and the short name of each section."""
    for found in _HEADING.finditer(body):
        having = dict(_ATTRIBUTE.findall(found["attributes"]))
        text = escape(unescape(re.sub(r"<[^>]*>|¶", "", found["text"])).strip())
        if "id" in having:
            yield having["id"], having.get("data-short", text)


def _code(name: str) -> str:
    notebook = f'<a href="notebooks/{escape(name)}.ipynb" download>{SOURCE}</a>'
    return f'<p>{notebook} · <a href="#top">Top</a></p>'
