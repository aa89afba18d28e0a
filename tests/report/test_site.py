"""Pages end to end: notebooks executed in a kernel of their own, on records that no trial made."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from lab.app.stored import pages as wanted_pages
from lab.errors import InputError, LabError
from lab.ext.pagecheck import inspection
from lab.report import notebooks, page, site
from lab.spec import find, shipped

PROJECT = Path(__file__).parents[2] / "notebooks"
CELLS = (
    'import lab\nfrom lab.report import figures\n\narticle = lab.article("toy")\narticle',
    "article.table()",
    "article.test_bed()",
    *(f'article["{name}"]' for name in ("header", "rate", "sweep", "unrun")),
    'figures.header_lengths(article["header"])',
    'article["header"].because()',
    'figures.goodput(article["unrun"])',
    'import sys\nprint("a", "remark", file=sys.stderr)',
)


def notebook(path: Path, *cells: str) -> None:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata.title = "A <toy>"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(made, path)


def _found_in(project: Path, *packs: Path) -> SimpleNamespace:
    """Stands for `lab.spec.shipped`, with these folders only."""
    mine = {"places": lambda: (project, *packs), "project": lambda: project}
    return SimpleNamespace(**{**vars(shipped), **mine})


@pytest.fixture
def only_here(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leaves the project's own notebooks and experiments out, for the sake of time."""
    monkeypatch.setattr(notebooks, "shipped", _found_in(here))
    notebook(here / "notebooks" / "toy.ipynb", *CELLS)
    shutil.copy(PROJECT / "index.ipynb", here / "notebooks")
    notebook(here / "notebooks" / "unrelated.ipynb", "1 / 0")
    return here


@pytest.mark.long
@pytest.mark.usefixtures("toy")
def test_site(only_here: Path) -> None:
    said: list[str] = []
    out = only_here / "report"
    out.mkdir()
    (out / "mine.txt").write_text("stays")
    pages = site.build(only_here / "results", out, said.append)
    assert pages == site.Pages(out / "index.html", (out / "toy.html",))
    made = [
        "experiments",
        "figures",
        "index.html",
        "mine.txt",
        "notebooks",
        "page.css",
        "page.js",
        "toy.html",
        "trials",
    ]
    assert sorted(path.name for path in out.iterdir()) == made
    named = ["toy.header.header-lengths.csv", "toy.header.header-lengths.png"]
    assert sorted(path.name for path in (out / "figures").iterdir()) == named
    assert not list(only_here.glob(".report-*"))
    assert any("a remark" in text for text in said)
    page, index = pages.articles[0].read_text(), pages.index.read_text()
    for text in (page, index):
        assert "Traceback" not in text
        assert "a remark" not in text
        assert not re.findall(r"""<link|src=(?!["']?data:)|url\((?!#)|@import""", text)
        assert str(only_here) not in text
    assert "<title>A &lt;toy&gt;</title>" in page
    assert "32 bytes &amp; &lt;nothing&gt; else" in page
    for name in ("header", "rate", "sweep", "unrun"):
        assert re.search(f'<h2[^>]* id="{name}"', page)
        assert f'<a href="#{name}">{name}</a>' in page, "the page's contents"
        assert f'href="toy.html#{name}"' in index
    assert "lab run toy/unrun" in page
    assert "5 predictions tested (law 3, simulation 2; 2 of them copy the kernel's own rules)" in index
    assert ", 1 of them further off than their experiment allows" in index
    assert 'href="toy.html#rate">toy/rate</a>' in index, "whose tool says something else than 10 Gbit/s carry"
    assert 'href="index.html">All articles</a>' in page
    written = [pages.index, pages.articles[0], *sorted(out.glob("trials/*/index.html"))]
    assert len(written) == 2 + len(list((only_here / "results").glob("??/*")))
    assert list(inspection.links(out, written)) == []
    source = Path("experiments/toy/header.py").read_text()
    assert (out / "experiments" / "toy" / "header.py").read_text() == source
    listing = out / "experiments" / "toy" / "header.html"
    assert escape(source) in listing.read_text()
    assert 'href="../../toy.html#header"' in listing.read_text(), "the way back"
    assert 'href="experiments/toy/header.html"' in page
    assert list(inspection.links(out, [listing])) == []
    raw = [link for text in (page, index) for link in re.findall(r'<a href="([^"]+)"(?! download)', text)]
    assert [link for link in raw if re.search(r"\.(?:py|txt|ipynb)$", link)] == [], "a browser shows raw text"
    for claim in find.find():
        assert (f"lab run {claim.id}" in index) == (claim.id.startswith("toy/")), "of others there is no record"
    first = page
    site.build(only_here / "results", out, said.append)
    assert pages.articles[0].read_text() == first


@pytest.mark.long
@pytest.mark.usefixtures("toy")
def test_an_own_article_without_a_notebook_has_a_page(only_here: Path, keep: Callable[..., object]) -> None:
    """A page of a default notebook, which is in the report, to start from; and no page of what has no record here."""
    own = only_here / "experiments" / "mine"
    own.mkdir()
    for file in ("article.yaml", "header.py", "sweep.py"):
        shutil.copy(only_here / "experiments" / "toy" / file, own)
    keep("mine/header")
    said: list[str] = []
    out = only_here / "report"
    pages = site.build(only_here / "results", out, said.append)
    assert [page.name for page in pages.articles] == ["mine.html", "toy.html"]
    assert "mine has no notebook: its page is made of a default one, " in said[0]
    page, index = pages.articles[0].read_text(), pages.index.read_text()
    assert re.search('<h2[^>]* id="header"', page)
    assert re.search('<figure[^>]* id="mine.header.bars"', page)
    assert "lab run mine/sweep" in page, "which was not run"
    assert 'href="mine.html#header"' in index
    assert '<a href="#toy">A &lt;toy&gt;</a>' in index, "a section is called as its page is elsewhere"
    assert [name for name in ("ack-rate", "tcp-bottleneck") if name in index] == []
    assert list(inspection.links(out, [pages.index, *pages.articles])) == []
    made = (out / "notebooks" / "mine.ipynb").read_text()
    (only_here / "notebooks" / "mine.ipynb").write_text(made)
    assert site.build(only_here / "results", out, said.append).articles == pages.articles
    assert pages.articles[0].read_text() == page, "the notebook makes the same page"


@pytest.mark.long
@pytest.mark.usefixtures("toy")
def test_a_report_of_named_articles_has_their_pages(only_here: Path) -> None:
    pages = site.build(only_here / "results", only_here / "report", lambda _: None, ["toy"])
    assert [page.name for page in pages.articles] == ["toy.html"]
    with pytest.raises(InputError, match=r"^no article is called 'nope' here; use toy$"):
        site.build(only_here / "results", only_here / "report", lambda _: None, ["nope"])


@pytest.mark.long
@pytest.mark.usefixtures("toy")
def test_a_claim_and_a_file_stand_for_their_articles(only_here: Path) -> None:
    """A file elsewhere has the page of a default notebook with the file's claim alone."""
    elsewhere = only_here / "elsewhere" / "header.py"
    elsewhere.parent.mkdir()
    shutil.copy(only_here / "experiments" / "toy" / "header.py", elsewhere)
    out = only_here / "report"
    wanted = wanted_pages(["toy/header", "experiments/toy/rate.py", elsewhere])
    assert wanted == (["toy"], {"elsewhere": {"header": elsewhere}})
    pages = site.build(only_here / "results", out, lambda _: None, *wanted)
    assert [page.name for page in pages.articles] == ["elsewhere.html", "toy.html"]
    assert re.findall('<h2[^>]* id="([a-z]+)"', pages.articles[0].read_text())[:1] == ["header"]
    assert list(inspection.links(out, [pages.index, *pages.articles])) == []


def test_a_report_of_nothing_is_refused(only_here: Path) -> None:
    shutil.rmtree(only_here / "experiments")
    with pytest.raises(
        InputError, match=r"results has no records, and there is no article here; `lab run` makes records$"
    ):
        site.build(only_here / "results", only_here / "report", lambda _: None)
    assert not (only_here / "report").exists()


@pytest.mark.long
@pytest.mark.usefixtures("toy")
def test_of_packs_a_report_shows_those_that_were_run(
    only_here: Path, keep: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    packs = {name: only_here / "packs" / f"pack-{name}" for name in ("a-run", "b-unrun")}
    for name, pack in packs.items():
        folder = pack / "experiments" / name
        folder.mkdir(parents=True)
        for file in ("article.yaml", "header.py"):
            shutil.copy(only_here / "experiments" / "toy" / file, folder)
        (pack / "notebooks").mkdir()
        notebook(pack / "notebooks" / f"{name}.ipynb", f'import lab\nlab.article("{name}").table()')
    monkeypatch.setattr(notebooks, "shipped", _found_in(only_here, *packs.values()))
    keep("a-run/header")
    pages = site.build(only_here / "results", only_here / "report", lambda _: None)
    assert [page.name for page in pages.articles] == ["toy.html", "a-run.html"], "the articles' pages come first"
    index = pages.index.read_text()
    assert index.index(" of 1 other source:") > index.index('href="toy.html"')
    table = index[index.index('id="claims"') :]
    assert table.index('href="a-run.html#header"') > table.index('href="toy.html#header"')
    assert "b-unrun" not in index


@pytest.mark.parametrize("name", ["index", "toy"])
def test_a_page_that_is_no_reports_is_not_replaced(only_here: Path, name: str) -> None:
    notebook(only_here / "notebooks" / "toy.ipynb", "1")
    (only_here / "www").mkdir()
    (only_here / "www" / f"{name}.html").write_text("my own site")
    with pytest.raises(InputError, match=f"{name}.html is not a page of a report"):
        site.build(only_here / "results", only_here / "www", lambda _: None)
    assert [path.read_text() for path in (only_here / "www").iterdir()] == ["my own site"]


@pytest.mark.long
def test_a_failing_cell_leaves_the_pages_alone(only_here: Path) -> None:
    out = only_here / "report"
    out.mkdir()
    (out / "index.html").write_text(page.SOURCE)
    path = only_here / "notebooks" / "toy.ipynb"
    notebook(path, "x = 0", "def f():\n    return 1 / x\nf()", "x")
    kept = json.loads(path.read_text())
    for number, cell in enumerate(kept["cells"], 1):
        cell["execution_count"] = number  # as in a notebook that is stored with its outputs
    path.write_text(json.dumps(kept))
    with pytest.raises(LabError) as failed:
        site.build(only_here / "results", out, lambda _: None)
    assert str(failed.value) == "toy.ipynb, cell 2 `def f():`: ZeroDivisionError: division by zero"
    assert [path.read_text() for path in out.iterdir()] == [page.SOURCE]
    assert not list(only_here.glob(".report-*"))


@pytest.mark.long
def test_a_cell_that_computes_for_ever_ends(only_here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "_SECONDS", 1)
    notebook(
        only_here / "notebooks" / "toy.ipynb",
        "x = 1",
        "try:\n    while x:\n        x += 1\nexcept Exception:\n    pass",
    )
    with pytest.raises(LabError, match="cell 2 `try:`: ComputesTooLong: the cell computed for more than 1 s"):
        site.build(only_here / "results", only_here / "report", lambda _: None)


@pytest.mark.long
def test_a_cell_that_waits_is_waited_for(only_here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a processor, too: what others compute is no limit of its own."""
    said: list[str] = []
    monkeypatch.setattr(notebooks, "_SECONDS", 1)
    monkeypatch.setattr(notebooks, "_REMARK", 0.5)
    program = "import os\nwhile sum(os.times()[:2]) < 1.5: pass"
    cell = f"import subprocess, sys, time\ntime.sleep(0.7)\nsubprocess.run([sys.executable, '-c', {program!r}])"
    notebook(only_here / "notebooks" / "toy.ipynb", cell)
    site.build(only_here / "results", only_here / "report", said.append)
    assert any(line.startswith("still at ") and "toy.ipynb" in line for line in said)


@pytest.mark.long
def test_a_mistake_in_an_experiment_is_told(only_here: Path) -> None:
    (only_here / "experiments" / "toy" / "rate.py").write_text('"""A claim."""\nEXPERIMENT = 1\n')
    with pytest.raises(LabError, match=r"rate\.py:1: should define EXPERIMENT"):
        site.build(only_here / "results", only_here / "report", lambda _: None)
    assert not (only_here / "report").exists()


def test_what_is_no_notebook(only_here: Path) -> None:
    (only_here / "notebooks" / "toy.ipynb").write_text("{}")
    with pytest.raises(InputError, match=r"toy\.ipynb"):
        site.build(only_here / "results", only_here / "report", lambda _: None)


def stored(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())  # type: ignore[no-any-return]


ARTICLES = sorted(path for path in PROJECT.glob("*.ipynb") if (PROJECT.parent / "experiments" / path.stem).is_dir())


@pytest.mark.parametrize("path", ARTICLES, ids=lambda path: path.name)
def test_every_claim_has_its_section_in_the_order_of_the_story(path: Path) -> None:
    code = "\n".join("".join(cell["source"]) for cell in stored(path)["cells"] if cell["cell_type"] == "code")
    shown = re.findall(r'^(\w+) = article\["([^"]+)"\]\n\1$', code, re.MULTILINE)
    claims = find.find([path.stem])
    assert [name for _, name in shown] == list(claims[0].article.story)
    assert {name for _, name in shown} == {claim.id.split("/")[1] for claim in claims}


def test_the_package_imports_nothing_before_it_is_asked() -> None:
    program = "import sys, lab; print([name for name in sys.modules if name.startswith('lab.')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
