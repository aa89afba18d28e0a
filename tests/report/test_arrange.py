"""An article's page: each claim's figures beside its words, tables last, and nothing twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest

import lab
from lab.report import html, page
from lab.report.arrange import arranged
from lab.report.article import Article
from lab.report.claim import Claim
from tests.report.conftest import Keep, beside

Toy = Callable[[], Article]


def code(source: str, shown: Any) -> Any:
    """A cell that shows an object, as IPython puts it into a notebook."""
    data, metadata = {"text/html": shown if isinstance(shown, str) else shown._repr_html_()}, {}
    if hasattr(shown, "_repr_mimebundle_"):
        more, metadata = shown._repr_mimebundle_()
        data |= more
    output = nbformat.v4.new_output("execute_result", data, metadata=metadata, execution_count=1)
    return nbformat.v4.new_code_cell(source, outputs=[output])


@pytest.fixture
def in_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.report.notebooks.in_report", lambda: True)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, toys: Path) -> Article:
    """The article on a page of a report."""
    with pytest.MonkeyPatch.context() as patch, beside(tmp_path_factory.mktemp("shown"), toys) as results:
        patch.setattr("lab.report.notebooks.in_report", lambda: True)
        return lab.article("toy", results)


@pytest.fixture(scope="module")
def made(shown: Article) -> Any:
    """A notebook about the article. Its figures are drawn once."""
    figures = ["<figure><svg></svg><figcaption>One. Two.</figcaption></figure>" for _ in range(2)]
    figures[1] = figures[1].replace("One", "A later one")
    cells = [
        code("article", shown),
        code("article.table()", shown.table()),
        nbformat.v4.new_markdown_cell("Before all claims."),
        code("header", shown["header"]),
        *(code("a figure", figure) for figure in figures),
        code("because", shown["header"].because()),
        nbformat.v4.new_markdown_cell("### Why\n\nSo."),
        nbformat.v4.new_markdown_cell("### Numbers\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
        code("rate", shown["rate"]),
        code("article.test_bed()", shown.test_bed()),
    ]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture
def notebook(made: Any) -> Any:
    """A copy of the notebook, which a test may change."""
    return deepcopy(made)


def places(text: str, *parts: str) -> list[int]:
    assert [part for part in parts if part not in text] == []
    return [text.index(part) for part in parts]


def test_figures_stand_beside_the_words_and_tables_come_last(notebook: Any) -> None:
    text = page.render(notebook, "toy")
    order = places(
        text,
        "Before all claims.",
        'id="header">',
        '<div class="pair">',
        '<div class="head">',
        '<div class="shown">',
        "<figcaption>One.",
        "<summary>A later one</summary>",
        '<div class="more">',
        ">So.<",
        "a</th>",
        "<summary>Claimed, predicted, measured: 2 figures in a table</summary>",
        "<summary>How it was tested</summary>",
        'id="rate">',
        '<div class="pair alone">',
        "<summary>Test bed",
    )
    assert order == sorted(order)


def test_no_table_is_there_twice(notebook: Any) -> None:
    text = page.render(notebook, "toy")
    assert 'class="cards verdicts"' not in text, "the sections have it"
    notebook.cells = notebook.cells[:3]
    assert 'class="cards verdicts"' in page.render(notebook, "toy"), "a page without sections keeps it"


def test_an_explanation_is_told_once(notebook: Any) -> None:
    text = page.render(notebook, "toy")
    assert text.count("it was <code>another</code> header") == 1
    notebook.cells = [cell for cell in notebook.cells if cell.source != "because"]
    assert page.render(notebook, "toy").count("it was <code>another</code> header") == 1


def test_arranging_changes_no_cell(notebook: Any) -> None:
    before = nbformat.writes(notebook)
    cells = arranged(notebook).cells
    assert nbformat.writes(notebook) == before
    assert len({cell.id for cell in cells}) == len(cells)


def test_jupyter_shows_the_view_of_the_page(toy: Toy) -> None:
    claim = toy()["header"]
    assert not claim.in_report
    text = claim._repr_html_()
    assert text.startswith('<div class="replab"><style>\n@scope (.replab) {')
    assert ":root" not in text, "the notebook around it keeps its colours"
    assert "<figure" in text
    assert "it was <code>another</code> header" in text
    assert html.section(**claim._parts()).partition('<div class="pair')[0] in text
    assert claim._repr_mimebundle_() == ({}, {})


def test_a_claim_that_was_not_run_says_so_once(shown: Article) -> None:
    claim: Claim = shown["unrun"]
    cells = [code("unrun", claim), code("unrun.plot()", claim.plot())]
    text = page.render(nbformat.v4.new_notebook(cells=cells), "toy")
    assert text.count("not run (run") == 1


@pytest.mark.usefixtures("in_report")
def test_a_remark_marks_text_about_figures_that_are_missing_from_a_partial_run(keep: Keep, toy: Toy) -> None:
    missing = '<p class="missing">No figure of ratios: none of its repeats counts</p>'
    words = nbformat.v4.new_markdown_cell("The cost per GB doubles.")
    remark = "The text below is about a complete run"
    cells = [code("unrun", toy()["unrun"]), code("plot", missing), words]
    cells[0].outputs[0].metadata[html.SECTION]["evidence"] = "<p>Packets: some</p>"
    text = page.render(nbformat.v4.new_notebook(cells=cells), "toy")
    assert text.index(remark) < text.index("The cost per GB doubles")
    assert "none of its repeats counts" not in text, "the verdict shows it"
    assert '<div class="pair alone">' in text, "no empty column stands beside the words"
    assert re.search("<details open[^>]*><summary>Claimed, predicted, measured", text), (
        "where no figure shows the trials that ran"
    )
    keep("header")
    cells = [code("header", toy()["header"]), words]
    assert remark not in page.render(nbformat.v4.new_notebook(cells=cells), "toy")


@pytest.mark.usefixtures("in_report")
def test_a_skipped_figure_of_a_claim_that_was_run_stays(keep: Keep, toy: Toy) -> None:
    keep("header")
    missing = '<p class="missing">No figure of a sweep: the claim has no sweep</p>'
    cells = [code("header", toy()["header"]), code("plot", missing)]
    assert "No figure of a sweep" in page.render(nbformat.v4.new_notebook(cells=cells), "toy")
