"""A page's tags are the lab's own: a text of a record, a claim or an article stays text.

The record's other texts have types that no tag fits: a record with one is damaged.
"""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lab.record.record import Record
from lab.report import page, trials
from lab.report.article import Article
from lab.report.overview import Overview
from tests.report.conftest import KERNEL

Keep = Callable[..., list[Record]]
EVIL = "<img src=x onerror=alert(1)>\"'><b title=`x`>&amp;<"


class Tags(HTMLParser):
    """Collects the tags and the names of attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(name for name, _ in attrs)}


@pytest.mark.parametrize(
    "changed",
    [
        {"point": EVIL},
        {"kernel": {**KERNEL, "version": EVIL}},
        {"kernel": {**KERNEL, "patches": [EVIL]}},
        {"workload": {"kind": "program", "argv": [EVIL]}},
    ],
    ids=["point", "version", "patch", "command"],
)
def test_a_trials_page_has_no_tag_of_its_record(keep: Keep, tmp_path: Path, changed: dict[str, object]) -> None:
    record = keep("rate", **changed)[0]
    (tmp_path / "trials").mkdir()
    trials._written(tmp_path / "trials", record, "")
    text = (tmp_path / "trials" / record.address / "index.html").read_text()
    assert "onerror=alert(1)" in text
    assert not Tags(text).seen & {"img", "b", "onerror"}


@pytest.fixture
def evil(here: Path) -> None:
    """Each text of the article is hostile."""
    folder = here / "experiments" / "toy"
    lines = [f"{key}: {EVIL!r}\n" for key in ("title", "author", "headline", "answer")]
    (folder / "article.yaml").write_text("".join(lines).replace("\\'", "''") + "date: 1 May 2020\nurl: unknown\n")
    for file in folder.glob("*.py"):
        text = file.read_text()
        for said in (
            "it says so",
            "it has a length",
            "it is made up",
            "it was `another` header",
            "too small",
            "enough",
        ):
            text = text.replace(f'"{said}"', repr(said + EVIL))
        file.write_text(text.replace("& <nothing> else", EVIL))


@pytest.mark.usefixtures("evil")
def test_the_pages_of_an_article_have_no_tag_of_its_texts(toy: Callable[[], Article]) -> None:
    article = toy()
    shown = [article, article.table(), article.test_bed(), Overview((article,)), *article]
    for each in shown:
        text = each._repr_html_()
        assert not Tags(text).seen & {"img", "b", "onerror"}, type(each).__name__
    assert "onerror=alert(1)" in article["header"]._repr_html_()
    assert not Tags(page.document(EVIL, "", "", EVIL)).seen & {"img", "b", "onerror"}
