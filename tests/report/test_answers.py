"""What a reader sees first: the answer, the counts, a dot for each claim, and a table that can be read alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lab
from lab.report.article import Article
from lab.report.dots import _about, _beside, _interval, _limit, _place, _seeds, dots
from lab.units import Value
from lab.verdict import Verdict
from lab.verdict.sample import Sample
from tests.report.conftest import beside

Toy = Callable[[], Article]


STORY = "headline: It is `so`\nanswer: Because.\nstory: {sweep: a limit, header: 32 B}\n"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, toys: Path) -> Article:
    with beside(tmp_path_factory.mktemp("told"), toys, STORY) as results:
        return lab.article("toy", results)


def test_the_answer_comes_first(told: Article) -> None:
    page = told._repr_html_()
    parts = [
        "<h1>It is <code>so</code>",
        "A toy &amp; more",
        '<ul class="counts">',
        '<p class="answer">Because.',
        '<ol class="dots"',
    ]
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    assert "<strong>1</strong>" in page
    assert "not reproduced</span> (1 demonstrated)" in page, "how well the failures are explained"


def test_nothing_was_found_where_nothing_was_run(here: Path) -> None:
    """The answer is about trials that were made elsewhere: a store without any shows none of it."""
    with (here / "experiments" / "toy" / "article.yaml").open("a") as about:
        about.write(STORY)
    Path("empty").mkdir()
    page = lab.article("toy", "empty")._repr_html_()
    assert "<h1>A toy &amp; more" in page
    assert "Because" not in page
    assert "skipped</span>" in page


def test_a_link_to_the_source_is_as_short_as_its_host(here: Path, toy: Toy) -> None:
    about = here / "experiments" / "toy" / "article.yaml"
    about.write_text(
        re.sub("url: .*", "url: https://web.example.org/2012/http://old.example.org/a.pdf", about.read_text())
    )
    link = '<a href="https://web.example.org/2012/http://old.example.org/a.pdf">web.example.org</a>'
    assert link in toy()._repr_html_()


def test_claims_come_in_the_order_of_the_story(told: Article) -> None:
    names = ["sweep", "header", "rate", "unrun"]
    assert [claim.name for claim in told] == names
    anchors = re.findall(r'<tr role="row" class="first"><th[^>]*><a href="#(\w+)">', told.table().text)
    assert anchors == names


def test_a_dot_for_each_claim_that_was_run(told: Article) -> None:
    rows = re.findall(r"<li>.*?</li>", dots(told).text)
    assert [re.findall(r'href="#(\w+)">([^<]*)<', row)[0] for row in rows] == [
        ("sweep", "a limit"),
        ("header", "32\N{NO-BREAK SPACE}B"),
        ("rate", "rate"),
    ]
    header = rows[1]
    assert "20 B" in header
    assert "<strong>32 B</strong> (1.6×)" in header
    left = {kind: float(at) for kind, at in re.findall(r'class="(band|dot)" style="left:([\d.]+)%', header)}
    assert left["dot"] > left["band"], "measured is more than claimed"


def test_a_witness_of_the_same_figure_stands_in_its_claims_row(
    here: Path, keep: Callable[..., object], toy: Toy
) -> None:
    source = here / "experiments" / "toy" / "header.py"
    source.write_text(source.read_text().replace('Arm("longer", Reported("32 B"', 'Arm("longer", Reported("20 B"'))
    keep("header")
    assert "dot witness" not in dots(toy().filter(where=lambda claim: claim.name == "header")).text, (
        "it explains nothing"
    )


def test_a_row_says_what_a_bare_number_is_of(told: Article) -> None:
    sweep, header, rate = re.findall(r"<li>.*?</li>", dots(told).text)
    assert "<strong>yes</strong> frames dropped" in re.sub("</?span[^>]*>", "", sweep)
    assert '<span class="track bare" aria-hidden="true">yes or no</span>' in sweep, "an event has no ratio"
    assert '<span class="about">' not in header + rate, "a unit shows it"


def test_a_row_leads_to_the_packets_behind_it(told: Article) -> None:
    sweep, header, rate = re.findall(r"<li>.*?</li>", dots(replace(claim, in_report=True) for claim in told).text)
    assert re.search(
        r'<a href="trials/[0-9a-f]{64}/index.html#capture.sender.eth0.pcap" aria-label="packets of', header
    )
    assert re.search(r'<a href="trials/[0-9a-f]{64}/index.html" aria-label="trial of', rate), "it has no capture"
    assert "no capture</small>" in rate
    assert "no capture" not in header
    assert "packets-of" in sweep


def test_columns_have_heads_and_every_sign_is_in_the_key(told: Article) -> None:
    drawn = dots(told).text
    heads = drawn[: drawn.index("<ol")]
    for head in ("Claim", "Claimed", "Measured ÷ claimed", "Measured", "Packets"):
        assert f"<span>{head}</span>" in heads
    rows, key = drawn.split("</ol>")
    signs = {*re.findall(r'<span class="((?:dot|band|interval|seed)[\w ]*)" style', rows)}
    assert signs, "there are some"
    for sign in signs:
        shown = sign.replace(" low", "")
        assert f'class="{shown}"' in key, sign


def test_seeds_are_points_and_n_is_beside_the_figure(told: Article) -> None:
    (each,) = next(claim for claim in told if claim.name == "rate").tested
    numbers = (9e9, 9.2e9, 9.8e9)
    sample = Sample({(seed, 0): Value(number, "bit/s") for seed, number in enumerate(numbers)})
    several = replace(each, result=replace(each.result, sample=sample))
    assert len(re.findall('class="seed"', _seeds(several, 2.0))) == 3
    assert "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}3" in _about(several)
    assert _seeds(each, 2.0) == _about(each) == "", "one trial is the figure itself"


def test_a_verdict_says_what_its_bare_numbers_are_of(told: Article) -> None:
    assert re.sub("<[^>]+>", "", told["sweep"].reason) == (
        "frames dropped: only at 2 (measured: yes; the article reports: yes), "
        "only at 5000 (measured: no; the article reports: no)"
    )
    assert told["header"].reason.startswith("32\N{NO-BREAK SPACE}B measured"), "a unit shows it"


def test_a_claim_without_packets_says_so_and_has_its_trials(told: Article) -> None:
    without = "No packets were captured"
    section = told["rate"]._repr_html_()
    assert section.index(without) < section.index("<details>")
    assert re.search(r'<p class="about">[^<]*Records: only: <a href="[^"]+"[^>]*>trial</a></p>', section)
    assert without not in told["header"]._repr_html_()
    assert without not in told["unrun"]._repr_html_(), "it may have some when it is run"


def test_an_arrow_of_what_explains_lies_beside_that_of_what_was_measured(
    here: Path, keep: Callable[..., object], toy: Toy
) -> None:
    source = here / "experiments" / "toy" / "header.py"
    text = source.read_text().replace('Reported("20 B"', 'Reported("2 B"').replace('Reported("32 B"', 'Reported("2 B"')
    source.write_text(text.replace("Exactly(", "AtLeast(").replace("import Arm,", "import Arm, AtLeast,"))
    keep("header")
    drawn = dots([*toy().filter(where=lambda claim: claim.name in ("header", "sweep"))]).text
    rows, key = drawn.split("</ol>")
    for sign in ("dot beyond witness", "dot beyond"):
        assert f'class="{sign}"' in rows
        assert f'class="{sign}"' in key, "no sign is without its meaning"


def test_what_an_interval_leaves_open_is_seen(told: Article) -> None:
    (each,) = next(claim for claim in told if claim.name == "rate").tested
    wide = Value(9.4e9, "bit/s", 9e9, 9.9e9, 0.95)
    open_ = replace(each, result=replace(each.result, measured=wide, verdict=Verdict("inconclusive", "")))
    assert _beside(open_, 1.0) == " <small>(9.000 to 9.900)</small>"
    left, width = map(float, re.findall(r"(?:left|width):([\d.]+)%", _interval(open_, 2.0)))
    assert left == pytest.approx(_place(9 / 9.4, 2.0), rel=1e-3)
    assert left + width == pytest.approx(_place(9.9 / 9.4, 2.0), rel=1e-3)
    assert _interval(each, 2.0) == "", "it is exact"


def test_an_interval_that_goes_on_beyond_the_axis_ends_in_an_arrow(told: Article) -> None:
    (each,) = next(claim for claim in told if claim.name == "rate").tested

    def drawn(low: float, high: float) -> str:
        measured = Value(9.4e9, "bit/s", low * 9.4e9, high * 9.4e9, 0.95)
        return _interval(replace(each, result=replace(each.result, measured=measured)), 1.2).partition(" style")[0]

    assert drawn(0.9, 1.1) == '<span class="interval"'
    assert drawn(0.9, 1.6) == '<span class="interval cut high"'
    assert drawn(0.5, 1.1) == '<span class="interval cut low"'
    assert drawn(0.5, inf) == '<span class="interval cut low high"'


def test_an_open_cause_has_no_mark_of_what_explains(here: Path, keep: Callable[..., object], toy: Toy) -> None:
    """Its witnesses are attempts at an explanation, and none of them is the cause."""
    source = here / "experiments" / "toy" / "header.py"
    text = source.read_text().replace('Reported("32 B", "it says so"), Demonstrated(', 'Reported("20 B", "so"), SHOWS(')
    text = text.replace("import Arm,", "import Arm, AtLeast, Consistent,")
    text = text.replace("sysctls={", 'tolerance=AtLeast(because="so"), sysctls={')
    open_ = text.replace("SHOWS(", "Consistent(").replace(
        'another` header"', 'another` header", assumed=("it may be",)'
    )
    for written, has_mark in ((text.replace("SHOWS(", "Demonstrated("), True), (open_, False)):
        unexplained = "" if has_mark else ', unexplained="no one knows"'
        source.write_text(written.replace('expect="not reproduced"', f'expect="not reproduced"{unexplained}'))
        keep("header")
        drawn = dots(toy().filter(where=lambda claim: claim.name == "header")).text
        assert ("witness" in drawn) == has_mark
        assert ("with what explains it" in drawn) == has_mark


def swept(here: Path, keep: Callable[..., object], toy: Toy, few: float, many: float) -> str:
    """The row of a claim that a limit of 2 frames drops `few` frames (it drops 7), and one of 5000 `many` (0)."""
    source = here / "experiments" / "toy" / "sweep.py"
    text = source.read_text().replace('Reported(1, "too small")', f'Reported({few}, "so it says")')
    text = text.replace('Reported(0, "enough")', f'Reported({many}, "so it says")')
    source.write_text(text.replace("metric.any_drops()", "metric.drops()"))
    keep("sweep")
    return dots(toy().filter(where=lambda claim: claim.name == "sweep")).text


def test_nothing_measured_is_a_ring_at_the_end_of_the_axis(here: Path, keep: Callable[..., object], toy: Toy) -> None:
    drawn = swept(here, keep, toy, few=7, many=1)
    assert 'class="dot zero" style="left:1.6%' in drawn
    assert "0 measured</span>" in drawn, "the key"
    assert "<strong>0</strong> <span" in drawn, "no ratio beside it"


def test_something_of_nothing_claimed_is_beyond_the_axis(here: Path, keep: Callable[..., object], toy: Toy) -> None:
    drawn = swept(here, keep, toy, few=0, many=0)
    assert 'class="dot beyond" style="left:98.4%' in drawn
    assert "<strong>7</strong> <span" in drawn
    assert "zero" not in drawn


def test_nothing_of_nothing_is_as_claimed(here: Path, keep: Callable[..., object], toy: Toy) -> None:
    source = here / "experiments" / "toy" / "sweep.py"
    text = source.read_text().replace("Point(2, Reported(1, ", "Point(3, Reported(0, ")
    source.write_text(text.replace("metric.any_drops()", "metric.drops()"))
    keep("sweep")
    drawn = dots(toy().filter(where=lambda claim: claim.name == "sweep")).text
    assert 'class="dot" style="left:50%' in drawn
    assert "zero" not in drawn


def test_a_page_of_bounds_alone_has_its_dots_in_view(here: Path, keep: Callable[..., object], toy: Toy) -> None:
    source = here / "experiments" / "toy" / "header.py"
    text = source.read_text().replace("import Arm,", "import Arm, AtMost,").replace('"20 B"', '"40 B"')
    source.write_text(
        text.replace('Exactly(because="it has a length"), expect="not reproduced"', 'AtMost(because="so")')
    )
    keep("header")
    drawn = dots(toy().filter(where=lambda claim: claim.name == "header")).text
    at = {kind: float(left) for kind, left in re.findall(r'class="(band|dot)" style="left:([\d.]+)%', drawn)}
    assert at["band"] < at["dot"] < 50, "what is less agrees"


@given(st.floats(1.001, 50), st.floats(0.001, 1000), st.floats(0.001, 1000))
def test_more_is_never_further_left(limit: float, one: float, other: float) -> None:
    assert (_place(one, limit) <= _place(other, limit)) == (one <= other) or _place(one, limit) == _place(other, limit)
    assert 0 <= _place(one, limit) <= 100
    assert _place(1, limit) == 50
    assert _place(-inf, limit) == _place(0, limit) <= _place(one, limit) <= _place(inf, limit)


@given(st.lists(st.floats(0.2, 5), min_size=1))
def test_an_axis_shows_every_ratio(ratios: list[float]) -> None:
    limit = _limit(ratios)
    assert all(1 / limit <= ratio * 1.000001 and ratio <= limit * 1.000001 for ratio in ratios)


def test_a_row_of_the_table_can_be_read_alone(told: Article) -> None:
    rows = told.table().text.split('<tr role="row" class="')[1:]
    header, witness = (row for row in rows if "length of the TCP header" in row)
    assert header.startswith("first")
    assert "· exact ·" in header
    assert "lab run toy/header --results again" in re.sub("<[^>]*>", "", header)
    assert 'data-label="Why" rowspan="2"' in header
    assert "it was <code>another</code> header" in header
    assert witness.startswith("witness")
    assert "↳ longer" in witness
    assert "nothing fitted" in witness
    assert "explains: demonstrated" in witness


def test_a_claim_that_was_not_run_says_how_to(told: Article) -> None:
    row = next(row for row in told.table().text.split("<tr ") if "#unrun" in row)
    assert "skipped" in row
    assert "lab run toy/unrun" in row


def test_packets_are_a_click_away_where_results_are_folded(
    here: Path, keep: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.report.notebooks.in_report", lambda: True)  # a page of a report
    source = here / "experiments" / "toy" / "sweep.py"
    points = "".join(f'Point({limit}, Reported(0, "enough")), ' for limit in range(5000, 5006))
    source.write_text(source.read_text().replace('Point(5000, Reported(0, "enough")),', points))
    keep("sweep")
    page = lab.load("toy", results="results")["sweep"]._repr_html_()
    before, folded = page.split("<summary>Claimed, predicted, measured: 7 figures in a table</summary>")
    assert folded.count(">capture</a>") == 7
    assert before.count(">capture</a>") == 6, "no more than the table of all claims has"
    assert re.search(r'only at 2: <a href="trials/[0-9a-f]{64}/capture\.sender\.eth0\.pcap\.gz">capture</a>', before)


def test_packets_of_what_explains_are_a_click_away_where_nothing_that_counts_has_any(
    here: Path, keep: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.report.notebooks.in_report", lambda: True)
    taken = property(lambda each: "" if each.result.counts else "capture.sender.eth0.pcap")
    monkeypatch.setattr("lab.report.tested.TestedCase.capture", taken)
    source = here / "experiments" / "toy" / "sweep.py"
    points = "".join(f'Point({limit}, Reported(0, "enough")), ' for limit in range(5000, 5003))
    text = source.read_text().replace('Point(5000, Reported(0, "enough")),', points)
    witness = 'Arm("only"), Arm("why", explains=Demonstrated("so"), sysctls={"net.ipv4.tcp_sack": 1})'
    source.write_text(text.replace('Arm("only"),', f"{witness},"))
    keep("sweep")
    before, _ = (
        lab.load("toy", results="results")["sweep"]
        ._repr_html_()
        .split("<summary>Claimed, predicted, measured: 8 figures in a table</summary>")
    )
    assert re.findall(r"(\w+) at \d+: <a[^>]*>capture</a>", before) == ["why"] * 4


def test_all_results_can_be_had_as_data(told: Article) -> None:
    assert re.search(r'download="toy\.csv" href="data:text/csv;base64,', told.test_bed().text)


@pytest.mark.usefixtures("here")
def test_an_explanation_that_did_not_run_has_no_grade() -> None:
    claim = lab.load("toy", results="results")["header"]
    assert not claim.records
    for shown in (claim.because().text, claim._repr_html_(), lab.load("toy", results="results").table().text):
        assert "demonstrated" not in re.sub(r'title="[^"]*"', "", shown)
        assert "skipped" in shown
