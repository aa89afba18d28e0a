"""The site, built as `make site` does, with a report of two pages that nobody rendered."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

import lab
from lab import metric, model
from lab.app.extension import functions
from lab.ext.pagecheck import inspection
from lab.ext.pagecheck.browser import browser
from lab.report.page import render
from lab.spec import find
from lab.spec.prediction import Prediction
from tests.docs.blocks import ROOT

pytestmark = pytest.mark.long

SPHINX = (sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", "-c", "docs/site")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site's folder."""
    folder = tmp_path_factory.mktemp("site")
    report = folder / "report"
    (report / "figures").mkdir(parents=True)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell('<h2 id="cork">A claim</h2>')])
    around = {"index": "Index", "tcp-nodelay": "An article"}
    for name in around:
        (report / f"{name}.html").write_text(render(notebook, name, around, "index"))
    (report / "notebooks").mkdir()
    for name in around:
        (report / "notebooks" / f"{name}.ipynb").touch()
    (report / "figures" / "tcp-nodelay.cork.message-packets.nodelay.png").write_bytes(b"a picture")
    built = subprocess.run(
        [*SPHINX, "-d", folder / "read", "-D", f"report={report}", ".", folder / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder / "site"


class Contents(HTMLParser):
    """Reads where a page's contents, in its side bar, lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        having = dict(attrs)
        if tag == "a" and "reference internal" in (having.get("class") or ""):
            self.targets.append(having.get("href") or "")


def test_no_link_is_dead(site: Path) -> None:
    assert list(inspection.links(site, sorted(site.rglob("*.html")))) == []


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(
    "page", ["index", "docs/evidence", "docs/site/networks", "docs/site/reports", "docs/site/api/lab.model"]
)
def test_a_page_fits_every_screen(site: Path, page: str) -> None:
    """The theme's icons have no words of their own: their buttons do."""
    with browser() as screen:
        found = list(inspection._seen(screen, site / f"{page}.html", page))
    assert [problem for problem in found if "without words (svg: " not in problem] == []


def test_nothing_is_fetched(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.findall(
            r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["']?(?:https?:)?//""", page.read_text()
        )
    for style in site.rglob("*.css"):
        assert not re.findall(r"@import|url\(['\"]?(?:https?:)?//", style.read_text())


def test_the_contents_have_every_guide_in_the_order_of_the_index(site: Path) -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    wanted = re.findall(r"^- \[[^]]+\]\(([^)]+)\.md\)", index, re.MULTILINE)
    front = Contents(site / "index.html").targets
    order = [front.index(str(Path("docs", page)).replace("docs/../", "") + ".html") for page in wanted]
    assert order == sorted(order)
    guides = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert guides <= set(wanted)


def test_guides_are_named_by_their_titles(site: Path) -> None:
    front = (site / "index.html").read_text()
    assert "docs/glossary.md</" not in front
    assert 'href="docs/glossary.html"><span class="std std-doc">Glossary' in front


@pytest.mark.parametrize(("module", "names"), [("lab", [*lab.__all__, *functions()]), ("lab.metric", metric.__all__)])
def test_the_reference_has_every_public_name(site: Path, module: str, names: list[str]) -> None:
    page = (site / "docs" / "site" / "api" / f"{module}.html").read_text()
    assert {name for name in names if f'id="{module}.{name}"' not in page} <= {"Metric"}


def test_the_reference_says_what_a_prediction_rests_on(site: Path) -> None:
    page = (site / "docs" / "site" / "api" / "lab.model.html").read_text()
    predictions = [value for value in vars(model).values() if isinstance(value, Prediction)]
    assert len(predictions) > 40
    for each in predictions:
        assert f'id="lab.model.{each.name}"' in page
    text = re.sub(r"<[^>]+>", "", page)
    assert "law: min(rwnd, sndbuf) × 8 / RTT, at most rate × payload / frame (RFC 6349, 3.3.1; IEEE 802.3)" in text


def test_every_network_is_drawn(site: Path) -> None:
    page = (site / "docs" / "site" / "networks.html").read_text()
    for name in find.topologies():
        assert f'aria-label="Topology {name}: ' in page
        assert f'id="{name}"' in page


def test_the_report_leads_back_to_the_guides(site: Path) -> None:
    for name in ("index", "tcp-nodelay"):
        assert '<a href="../index.html">Documentation</a>' in (site / "report" / f"{name}.html").read_text()


def test_the_report_is_inside(site: Path) -> None:
    page = (site / "docs" / "site" / "reports.html").read_text()
    assert 'href="../../report/tcp-nodelay.html#cork"' in page
    assert 'alt="message packets nodelay"' in page
    assert "<span>TCP_CORK: message packets nodelay</span>" in page
    assert "Small writes wait for a delayed ACK" in page
    assert (site / "report" / "figures" / "tcp-nodelay.cork.message-packets.nodelay.png").read_bytes() == b"a picture"
