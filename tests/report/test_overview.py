"""The index shows each article's answer with a small picture, and all claims in one table that a script filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from lab.report import notebooks
from lab.report.article import Article
from lab.report.miniature import key, miniature
from lab.report.overview import Overview
from lab.verdict import Verdict
from lab.verdict.sample import Sample


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
    assert float(marks["rate: reproduced"].get("cx", "")) == middle, "as claimed"
    assert marks["sweep: reproduced"].tag == "rect", "yes or no has no ratio, and so no place on the axis"


def test_no_mark_covers_another_and_all_are_in_the_picture(toy: Callable[[], Article]) -> None:
    drawn = svg(Article(3 * toy().claims))
    _, _, width, height = map(float, drawn.get("viewBox", "").split())
    places = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in drawn if each.tag == "circle"]
    assert len({*places}) == len(places) == 6
    assert all(6 <= x <= width - 6 and 6 <= y <= height - 6 for x, y in places)


def test_the_picture_has_a_scale_and_the_index_says_what_its_marks_mean(toy: Callable[[], Article]) -> None:
    texts = [each.text for each in svg(toy()) if each.tag == "text"]
    assert texts == ["÷ 2", "as claimed", "× 2", "measured ÷ claimed"], "32 B are 1.6 times the 20 B that are claimed"
    shown = Overview((toy(),))._repr_html_()
    key = shown[shown.index('<p class="key">') : shown.index('<div class="findings">')]
    for kind, meaning in (("reproduced", "reproduced"), ("not-reproduced", "not reproduced")):
        assert re.search(rf'<circle class="{kind}"[^>]*></circle></svg> {meaning}', key)
    assert "partly" not in key, "a sign that no picture has"


def test_every_sign_of_a_picture_is_in_the_legend(toy: Callable[[], Article]) -> None:
    header, rate, *others = toy().claims
    results = tuple(replace(each, measured=None, sample=Sample({})) for each in rate.results)
    result = replace(rate.judged.result, verdict=Verdict("invalid", "the wire was slow"), results=results)
    article = Article((header, replace(rate, judged=replace(rate.judged, result=result)), *others))
    marks = {*re.findall(r'<(circle|rect) class="([^"]+)"', miniature(article))}
    assert ("rect", "invalid") in marks
    assert marks == {*re.findall(r'<(circle|rect) class="([^"]+)"', key([article]))}
    assert "invalid, no ratio" in key([article])


def test_the_largest_errors_of_replays_and_of_laws_are_told_apart(toy: Callable[[], Article]) -> None:
    shown = Overview((toy(),))._repr_html_()
    sentence = r"The largest error of {} is (?:<span[^>]*>)?[^<]+(?:</span>)? \((?:<a[^>]*>)?toy/{}"
    assert re.search(sentence.format("a replay of the kernel's rules", "sweep"), shown)
    assert re.search(sentence.format("a law", "rate"), shown), "qperf's figure is not what the line carries"
    assert "The largest error is" not in shown


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
    assert "lab run toy/header" in shown[shown.index("<summary>Commands") :]
    labels = shown[shown.index("<summary>What the labels mean") : shown.index("<table")]
    assert "predicted ÷ measured − 1" in labels, "where a phone has no tooltip"
    assert ">not run</td>" in rows[-1][1]


def test_each_claim_on_the_index_leads_to_its_packets(
    toy: Callable[[], Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebooks, "articles_there", lambda: ("toy",))
    shown = Overview((Article(tuple(replace(claim, in_report=True) for claim in toy())),))._repr_html_()
    assert '<a href="#claims">Packets</a>' in shown, "on the first screen"
    cells = re.findall(r'data-label="Packets">(.*?)</td>', shown)
    link = r'<a href="trials/[0-9a-f]{64}/index.html%s" aria-label="%s of %s" data-trial="[0-9a-f]{12}">%s</a>'
    header, rate, _, unrun = cells
    assert re.fullmatch(link % ("#capture.sender.eth0.pcap", "packets", "header", "packets"), header)
    assert re.match(link % ("", "trial", "rate", "trial"), rate)
    assert rate.endswith("no capture</small>")
    assert unrun == "—"
