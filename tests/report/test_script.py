"""What a page's script does in a browser: values under the pointer, and a part of the time."""

from __future__ import annotations

import base64
import io
import re
import shutil
import threading
import time
import zlib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lab.ext.pagecheck.browser import _PROGRAMS, Browser, browser
from lab.report import html, page
from lab.report.chart import Line, Panel, chart
from lab.report.drawing import Picture, axes
from lab.report.values import as_csv, as_json

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not any(map(shutil.which, _PROGRAMS)), reason="there is no Chromium here"),
]
POINT = """(query, x, y, ...kinds) => {
  const part = document.querySelector(query), box = part.getBoundingClientRect();
  const at = {clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true};
  for (const kind of kinds) part.dispatchEvent(new PointerEvent(kind, at));
}"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A page with a chart of ten seconds and a figure of three points."""
    folder = tmp_path_factory.mktemp("script")
    goodput = Line("goodput", "var(--arm-1)", points=[(at, 1e6 * at) for at in range(11)])
    window = Line("rwnd", "var(--arm-3)", points=[(0.0, 65536.0), (5.0, 131072.0)])
    timed = chart([Panel("goodput, bit/s", (goodput,)), Panel("bytes", (window,))], "s", "ten seconds", (0.0, 10.0))
    figure, (panel,) = axes()
    panel.plot([0, 50, 100], [7, 9, 8], "o", label="a series")
    panel.set(xlabel="rate, Mbit/s", ylabel="wait, ms")
    figure.canvas.draw()
    svg = io.BytesIO()
    figure.savefig(svg, format="svg")
    drawn = Picture("toy", svg.getvalue(), bytes, "three points", "", csv=as_csv(figure), values=as_json(figure)).text
    (folder / "page.css").write_text(page.style())
    (folder / "page.js").write_text(page.script())
    body = f'<figure class="over-time">{timed}</figure>{drawn}'
    (folder / "index.html").write_text(page.document("t", "", body, "page.css", "page.js"))
    with browser() as screen:
        screen.resize(1280)
        screen.show(Path(folder / "index.html"))
        yield screen


def test_a_folded_figure_is_open_where_it_fills_empty_room(tmp_path: Path) -> None:
    boxes = "".join(
        f"<details><summary>{high}</summary><div style='height:{high}px'></div></details>" for high in (200, 900)
    )
    words = "<div class='more'><div style='height:400px'></div></div>"
    body = f"<div class='pair'><div class='shown'>{boxes}</div>{words}</div>"
    (tmp_path / "page.css").write_text(page.style())
    (tmp_path / "page.js").write_text(page.script())
    (tmp_path / "index.html").write_text(page.document("t", "", body, "page.css", "page.js"))
    with browser() as screen:
        for width, is_open in ((1280, [True, False]), (390, [False, False])):
            screen.resize(width)
            screen.show(tmp_path / "index.html")
            assert screen.evaluate("[...document.querySelectorAll('details')].map((each) => each.open)") == is_open


def test_a_wide_part_scrolls_alone_and_a_line_tells_so(tmp_path: Path) -> None:
    """As of a network of ten routers in a row: its picture, and a table with a column for each of them."""
    hosts = [f"router-{number}" for number in range(10)]
    picture = '<svg class="topology" viewBox="0 0 2700 90" style="min-width: 2025px" aria-label="ten"></svg>'
    settings = html.table(["Setting", *hosts], [[html.code("net.ipv4.tcp_wmem"), *["4096 16384 4194304"] * 10]])
    parts = {"picture": picture, "table": settings, "narrow": "<p>all of it</p>"}
    body = "".join(f'<dl><dd id="{name}">{html.scrolled(part, name)}</dd></dl>' for name, part in parts.items())
    (tmp_path / "page.css").write_text(page.style())
    (tmp_path / "page.js").write_text(page.script())
    (tmp_path / "index.html").write_text(page.document("t", "", body, "page.css", "page.js"))
    hints = "[...document.querySelectorAll('.sideways')].filter((each) => each.checkVisibility())"
    shown = f"{hints}.map((each) => each.parentElement.id)"
    drawn = f"new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done({shown}))))"
    with browser() as screen:
        screen.resize(390)
        screen.show(tmp_path / "index.html")
        for width, wide in ((390, ["picture"]), (820, ["picture"]), (1280, ["picture", "table"])):
            screen.resize(width)
            assert screen.evaluate("document.documentElement.scrollWidth") == width
            assert screen.evaluate(drawn) == wide


def test_a_tall_figure_leaves_no_half_page_empty_in_print(tmp_path: Path) -> None:
    svg = '<svg viewBox="0 0 400 500"><rect width="400" height="500"/></svg>'
    body = f'<div style="height:13cm"></div><figure>{svg}</figure>'
    (tmp_path / "page.css").write_text(page.style())
    (tmp_path / "index.html").write_text(page.document("t", "", body, "page.css"))
    with browser() as screen:
        screen.show(tmp_path / "index.html")
        printed = base64.b64decode(screen._ask("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    assert 'counter(page) " of " counter(pages)' in page.style(), "pages have numbers"


def test_paper_has_the_heads_of_tables_and_the_names_of_trials(tmp_path: Path) -> None:
    head = ("Claim", "Article", "Verdict", "Why", "Model error", "Packets")
    link = '<a href="t" data-trial="0123456789ab">packets</a>'
    body = '<div class="filter" data-filter="verdict"></div>' + html.table(head, [["a"] * 5 + [link]], "index")
    (tmp_path / "page.css").write_text(page.style())
    (tmp_path / "page.js").write_text(page.script())
    (tmp_path / "index.html").write_text(page.document("t", "<a href='i'>All</a>", body, "page.css", "page.js"))
    display = "(query) => getComputedStyle(document.querySelector(query)).display"
    with browser() as screen:
        screen.resize(700)  # about the width of a sheet
        screen.show(tmp_path / "index.html")
        screen._ask("Emulation.setEmulatedMedia", media="print")
        shown = {query: screen.evaluate(f"({display})('{query}')") for query in ("header", ".filter", "thead", "td")}
        assert shown == {"header": "none", ".filter": "none", "thead": "table-header-group", "td": "table-cell"}
        assert screen.evaluate("[...document.querySelectorAll('thead th')].every((each) => each.checkVisibility())")
        last = "document.querySelector('td:last-child')"
        assert screen.evaluate(f"{last}.checkVisibility()")
        after = f"getComputedStyle({last}.querySelector('a'), '::after').content"
        assert "0123456789ab" in screen.evaluate(after)


def test_each_sheet_repeats_the_head_of_a_table_whose_columns_sort(tmp_path: Path) -> None:
    """Only the head is red here, so this colour is in the drawing of each sheet with a head."""
    table = f"<style>:root {{ --muted: #f00 }}</style>{html.table(['Claim'], [['a']] * 100, 'sorts')}"
    (tmp_path / "page.css").write_text(page.style())
    (tmp_path / "page.js").write_text(page.script())
    (tmp_path / "index.html").write_text(page.document("t", "", table, "page.css", "page.js"))
    with browser() as screen:
        screen.show(tmp_path / "index.html")
        assert screen.evaluate("document.querySelectorAll('thead button').length") == 1
        printed = base64.b64decode(screen._ask("Page.printToPDF", preferCSSPageSize=True)["data"])
    packed = re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", printed, re.DOTALL)
    drawn = [zlib.decompressobj().decompress(each) for each in packed]
    sheets = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert sheets > 2
    assert sum(b" 1 0 0 rg" in each for each in drawn) == sheets


def test_code_is_wrapped_on_a_phone(tmp_path: Path) -> None:
    long = "because = 'this line of an experiment has more than one hundred characters, as most of their lines have'"
    body = f'<pre class="listing">{long}</pre>'
    (tmp_path / "page.css").write_text(page.style())
    (tmp_path / "index.html").write_text(page.document("t", "", body, "page.css"))
    with browser() as screen:
        screen.resize(390)
        screen.show(tmp_path / "index.html")
        assert screen.evaluate("document.documentElement.scrollWidth") == 390
        listing = "document.querySelector('.listing')"
        assert screen.evaluate(f"{listing}.scrollWidth <= {listing}.clientWidth")


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and prints nothing."""

    def log_message(self, *_: object) -> None:
        pass


def test_an_entry_on_a_web_server_has_the_pages_address(tmp_path: Path) -> None:
    entry = "@misc{a,\n  title = {b},\n}"
    body = f'<pre><code class="bibtex" data-page="index.html#c">{entry}</code></pre>'
    (tmp_path / "page.css").write_text(page.style())
    (tmp_path / "page.js").write_text(page.script())
    (tmp_path / "index.html").write_text(page.document("t", "", body, "page.css", "page.js"))
    shown = "document.querySelector('.bibtex')?.textContent ?? ''"
    with (
        browser() as screen,
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        screen._ask("Page.navigate", url=address)
        while screen.evaluate("`${location.href} ${document.readyState}`") != f"{address} complete":
            time.sleep(0.02)
        assert screen.evaluate(shown) == f"@misc{{a,\n  title = {{b}},\n  url = {{{address}#c}},\n}}"
        server.shutdown()
        screen.show(tmp_path / "index.html")
        assert screen.evaluate(shown) == entry, "a file has no address for others"


def text(screen: Browser, query: str) -> str:
    return str(screen.evaluate(f"[...document.querySelectorAll('{query}')].map((each) => each.textContent).join('|')"))


def test_all_lines_have_their_value_at_the_pointers_time(shown: Browser) -> None:
    middle = (76 + 554 / 2 + 2) / 640  # a bit right of the middle of the axis, at 5 s
    shown.evaluate(f"({POINT})('.over-time svg', {middle}, 0.5, 'pointermove')")
    said = text(shown, ".over-time .under")
    assert said.endswith(" s · goodput 5 Mbit/s · rwnd 131 kB"), said


def test_dragging_shows_a_part_of_the_time_and_a_button_all_of_it(shown: Browser) -> None:
    before = text(shown, ".times text")
    left, right = ((76 + 554 * share) / 640 for share in (0.2, 0.39))
    shown.evaluate(f"({POINT})('.over-time svg', {left}, 0.5, 'pointermove', 'pointerdown')")
    shown.evaluate(f"({POINT})('.over-time svg', {right}, 0.5, 'pointermove', 'pointerup')")
    assert text(shown, ".times text") == "2|2.5|3|3.5"
    assert shown.evaluate("document.querySelector('svg.plot').viewBox.baseVal.width") == pytest.approx(105.3, abs=1)
    shown.evaluate("[...document.querySelectorAll('.zoom button')].at(-1).click()")
    assert text(shown, ".times text") == before


def test_a_figure_has_the_value_of_the_nearest_point(shown: Browser) -> None:
    shown.evaluate(f"({POINT})('#toy svg', 0.5, 0.4, 'pointermove')")
    said = text(shown, "#toy .under")
    assert said.startswith("a series — rate, Mbit/s: 50"), said
    assert "wait, ms: 9" in said
