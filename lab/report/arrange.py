"""Arrange an executed article for its page: one section per claim, with the figures beside the words.

A notebook shows the outputs of its cells one below the other. On a page, a claim's figures stand beside its verdict and
its explanation, and its tables come last. A table that repeats what the sections show is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

from lab.report import html
from lab.report.html import REPEATS, SECTION, section

_OTHER = re.compile(r"^##? |^\s*<h[12]\b|^\s*<details\b", re.MULTILINE)  # the start of another part of the page
_NOT_RUN = html.badge("skipped")
_MISSING = 'class="missing"'
_BECAUSE = '<p><span class="verdict explains"'
_FIGURE = re.compile(f"<svg|<img|{_MISSING}")
_WITHOUT = (
    '<p class="missing">This claim was not run here, or only in part. The text below is about a complete run, so the '
    "figures that it refers to are not all in this report.</p>"
)
_TABLE = re.compile(r"^\|", re.MULTILINE)  # in Markdown: it needs the width of the page


def arranged(notebook: Any) -> Any:
    """Return the notebook with its cells in the order of a page. The cells themselves do not change."""
    page = copy(notebook)
    groups = list(_groups(notebook.cells))
    has_sections = any(_told(group[0], SECTION) for group in groups)
    page.cells = [cell for group in groups for cell in _arranged(group) if not (has_sections and _told(cell, REPEATS))]
    return page


def _groups(cells: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the cells of each claim together, and every other cell alone."""
    group: list[Any] = []
    for cell in cells:
        starts = _told(cell, SECTION) or _OTHER.search(_text(cell))
        if group and (starts or not _told(group[0], SECTION)):
            yield group
            group = []
        group.append(cell)
    if group:
        yield group


def _arranged(group: Sequence[Any]) -> Iterator[Any]:
    """Yield the cells of a claim: its heading, the figures beside the words, and the details."""
    head, *others = group
    parts = _told(head, SECTION)
    if not parts:
        yield from group
        return
    is_skipped = _NOT_RUN in parts["verdict"]
    others = [cell for cell in others if not (is_skipped and (_NOT_RUN in _html(cell) or _MISSING in _html(cell)))]
    words = [cell for cell in others if _is_prose(cell) and not _TABLE.search(cell.source)]
    if is_skipped and any(cell.cell_type == "markdown" for cell in words):
        words.insert(0, _made(_WITHOUT))
    drawn = [cell for cell in others if cell not in words and _FIGURE.search(_html(cell))]
    tables = [cell for cell in others if cell not in words and cell not in drawn]
    if is_skipped and not drawn and parts["evidence"]:  # only the table shows the trials that ran
        parts = {**parts, "details": parts["details"].replace("<details>", "<details open>", 1)}
    if any(_html(cell).startswith(_BECAUSE) for cell in words):
        parts = {**parts, "why": ""}  # the explanation is the same, in full
    shown_cells = [*drawn[:1], *(part for cell in drawn[1:] for part in _folded(cell))]
    cells_of = {"figures": shown_cells, "words": words, "tables": tables}
    places = {f"<!-- {name} -->": cells for name, cells in cells_of.items()}
    # The exporter renders the cells, so the section around them has a mark for each place.
    shown, more, below = (mark if cells else "" for mark, cells in places.items())
    around = section(**parts, shown=shown, more=more, below=below)
    for part in re.split(f"({'|'.join(places)})", around):
        yield from places.get(part) or [_made(part)]


def _is_prose(cell: Any) -> bool:
    return cell.cell_type == "markdown" or _html(cell).startswith("<p>")


def _folded(cell: Any) -> Iterator[Any]:
    """Yield the cell of a further figure, folded below the first sentence of its caption."""
    caption = re.search(r"<figcaption>(.*?)(?:<div|\. |$)", _html(cell), re.DOTALL)
    name = re.sub(r"<[^>]*>", "", caption[1]).strip().rstrip(".") if caption else ""
    yield _made(f"<details><summary>{name or 'More evidence'}</summary>")
    yield cell
    yield _made("</details>")


def _made(text: str) -> Any:
    """Return a cell that shows this HTML."""
    from nbformat.v4 import new_code_cell, new_output

    return new_code_cell(outputs=[new_output("display_data", {"text/html": text})])


def _html(cell: Any) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", ())).lstrip()


def _text(cell: Any) -> str:
    """Return what a cell shows, unless it is a figure: Markdown, or HTML."""
    return str(cell.source) if cell.cell_type == "markdown" else _html(cell)[:20]


def _told(cell: Any, key: str) -> Any:
    """Return a value in the metadata of the cell's outputs, or None."""
    found = (output.get("metadata", {}).get(key) for output in cell.get("outputs", ()))
    return next(filter(None, found), None)
