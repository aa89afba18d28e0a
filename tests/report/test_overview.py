"""The index shows each article's answer with a small picture, and all claims in one table that a script filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from lab.report.article import Article
from lab.report.miniature import miniature
from lab.report.overview import Overview


def svg(article: Article) -> ET.Element:
    return ET.fromstring(miniature(article))


def test_the_picture_has_a_mark_for_each_claim_that_was_run(toy: Callable[[], Article]) -> None:
    drawn = svg(toy())
    marks = {each.findtext("title"): each for each in drawn if each.tag in ("circle", "rect")}
    assert {*marks} == {"header: not reproduced", "rate: reproduced", "sweep: reproduced"}
    assert drawn.get("aria-label") == "header: not reproduced; rate: reproduced; sweep: reproduced"
    line = next(each for each in drawn if each.tag == "line" and each.get("x1") == each.get("x2"))
    middle = float(line.get("x1", ""))
    assert float(marks["header: not reproduced"].get("cx", "")) > middle, "32 B where 20 B are claimed"
    assert float(marks["sweep: reproduced"].get("cx", "")) == middle, "as claimed"


def test_no_mark_covers_another_and_all_are_in_the_picture(toy: Callable[[], Article]) -> None:
    drawn = svg(Article(3 * toy().claims))
    _, _, width, height = map(float, drawn.get("viewBox", "").split())
    places = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in drawn if each.tag == "circle"]
    assert len({*places}) == len(places) == 9
    assert all(6 <= x <= width - 6 and 6 <= y <= height - 6 for x, y in places)


@pytest.mark.usefixtures("here")
def test_an_article_that_was_not_run_has_no_picture() -> None:
    import lab

    assert miniature(lab.article("toy", "results")) == ""


def test_all_claims_are_in_one_table_to_filter_and_to_sort(toy: Callable[[], Article]) -> None:
    shown = Overview((toy(),))._repr_html_()
    assert shown.count("<table") == 1
    rows = re.findall(r'<tr role="row" data-verdict="([^"]+)" data-article="toy">(.*?)</tr>', shown, re.S)
    assert [kind for kind, _ in rows] == ["not reproduced", "reproduced", "reproduced", "skipped"]
    orders = [int(found) for _, row in rows for found in re.findall(r'data-order="(\d+)"><span class="verdict', row)]
    assert orders[1] == orders[2] < orders[0] < orders[3]
    assert 'data-filter="verdict article"' in shown
    assert all("lab run toy/header" not in row for _, row in rows)
    assert "lab run toy/header" in shown[shown.index("<details>") :]
    assert ">not run</td>" in rows[-1][1]
