"""A page's script helps, where scripts run: sorting, copying, enlarging, and the formula's two sliders."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import lab
from lab.ext.pagecheck.browser import _PROGRAMS, Browser, browser
from lab.report import figures, html
from lab.report.overview import Overview
from lab.report.page import render
from tests.report.conftest import beside

pytestmark = [
    pytest.mark.skipif(not any(map(shutil.which, _PROGRAMS)), reason="there is no Chromium here"),
    pytest.mark.long,
]

ROWS = (("c", "30 ms"), ("a", "4 µs"), ("b", "—"))


@pytest.fixture(scope="module")
def page(toys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a table, a command, and the formula of a claim."""
    folder = tmp_path_factory.mktemp("page")
    with beside(folder, toys) as results:
        article = lab.article("toy", results)
        cells = [
            html.table(["arm", "measured"], ROWS, "results"),
            '<p class="about"><code>lab run toy/header --results again</code></p>',
            figures.formula(article["header"], "on").text,
            Overview((article,))._repr_html_(),
        ]
    shown = [
        nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("display_data", {"text/html": cell})])
        for cell in cells
    ]
    (folder / "page.html").write_text(render(nbformat.v4.new_notebook(cells=shown), "page"))
    return folder / "page.html"


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture
def screen(opened: Browser, page: Path) -> Browser:
    """The browser, which has just loaded the page. To start one takes longer than all of these tests."""
    opened.show(page)
    return opened


def column(screen: Browser, number: int) -> list[str]:
    found: list[str] = screen.evaluate(
        f"[...document.querySelectorAll('.results tbody tr')].map((row) => row.cells[{number}].textContent)"
    )
    return found


def test_a_column_sorts_up_down_and_back(screen: Browser) -> None:
    expected = (["4 µs", "30 ms", "—"], ["—", "30 ms", "4 µs"], ["30 ms", "4 µs", "—"])
    for order in expected:
        screen.evaluate("document.querySelectorAll('.results th button')[1].click()")
        assert column(screen, 1) == order


def rows(screen: Browser) -> list[str]:
    """The verdicts of the rows that the index shows."""
    found: list[str] = screen.evaluate(
        "[...document.querySelectorAll('.index tbody tr')].filter((row) => row.checkVisibility())"
        ".map((row) => row.dataset.verdict)"
    )
    return found


def choose(screen: Browser, control: str, value: str) -> None:
    screen.evaluate(
        f"{{const it = document.querySelector('.filter {control}'); it.value = '{value}';"
        "it.dispatchEvent(new Event('input'))}"
    )


def test_claims_are_filtered_by_verdict_and_by_words(screen: Browser) -> None:
    assert rows(screen) == ["not reproduced", "reproduced", "reproduced", "skipped"]
    choose(screen, "select", "reproduced")
    assert rows(screen) == ["reproduced"] * 2
    choose(screen, "input", "frames")
    assert rows(screen) == ["reproduced"]
    assert screen.evaluate("document.querySelector('.filter output').textContent") == "1 of 4 shown"
    choose(screen, "select", "")
    choose(screen, "input", "")
    assert len(rows(screen)) == 4


def test_verdicts_sort_from_the_best_to_the_worst(screen: Browser) -> None:
    screen.evaluate("[...document.querySelectorAll('.index th button')][2].click()")
    assert rows(screen) == ["reproduced", "reproduced", "not reproduced", "skipped"]


def test_a_command_can_be_copied(screen: Browser) -> None:
    assert screen.evaluate("document.querySelector('.about button').ariaLabel") == (
        "Copy lab run toy/header --results again"
    )


def test_the_formula_follows_its_sliders(screen: Browser) -> None:
    before = screen.evaluate("document.querySelector('.formula tbody').textContent")
    screen.evaluate(
        "const [buffer, trip] = document.querySelectorAll('.formula input'); buffer.value = 20; trip.value = 200;"
        "buffer.dispatchEvent(new Event('input'))"
    )
    after = screen.evaluate("document.querySelector('.formula tbody').textContent")
    assert before != after
    assert "524,288 B21 Mbit/s" in after  # half of 1 MiB in each 200 ms
    screen.evaluate("trip.value = 1; trip.dispatchEvent(new Event('input'))")
    assert screen.evaluate("document.querySelector('.formula tbody').textContent").count(", the link") == 2
