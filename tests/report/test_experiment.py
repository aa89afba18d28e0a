"""An experiment's page answers before its code, and the first screen of each page has verdict, packets and entry."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import lab
from lab.ext.pagecheck.browser import _PROGRAMS, Browser, browser
from lab.report import figures, notebooks, page
from lab.report.answer import answers
from lab.report.article import Article
from lab.report.experiment import EXPERIMENTS, experiments, listing
from tests.report.conftest import Keep, write_trials

Toy = Callable[[], Article]
PHONE = 844  # pixels: the height of a phone's screen, 390 px wide
SIZES = ((390, PHONE), (820, 1180), (1280, 800))


@pytest.fixture
def told(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Article:
    """The toy article, as a page of a report shows it."""
    monkeypatch.setattr(notebooks, "in_report", lambda: True)
    return toy()


def test_an_experiments_page_answers_before_its_code(told: Article) -> None:
    shown = listing("toy/header", "CODE = 1", experiments(told)["toy/header"])
    parts = (
        "Linux 7.2.13-1, HZ 1000",
        ">Packets</a>",
        '<a href="#cite">Cite</a>',
        '<span class="verdict not-reproduced"',
        '<a href="../../toy.html#header">A header',
        "32\N{NO-BREAK SPACE}B measured",
        ">Claimed<",
        "<strong>32 B</strong>",
        '<div id="cite">',
        "@misc{replab-toy-header-experiment,",
        "CODE = 1",
    )
    order = [shown.index(part) for part in parts]
    assert order == sorted(order)
    assert re.search(r'<a href="\.\./\.\./trials/[0-9a-f]{64}/index.html#capture.sender.eth0.pcap">Packets</a>', shown)


def test_every_claim_has_its_verdict_on_its_experiments_page(told: Article) -> None:
    found = experiments(told)
    assert found.keys() == {claim.id for claim in told}
    for claim in told:
        assert f'<span class="verdict {claim.verdict.kind.replace(" ", "-")}"' in found[claim.id]
        assert ('id="cite"' in found[claim.id]) == bool(claim.records), "nothing to cite without a run"
        for link in re.findall(r'<a[^>]* href="([^"]+)"', found[claim.id]):
            own = (f"{claim.name}.html", "#cite")
            assert link.startswith("../../") or link in own, "a page two folders below the report"
    assert told._repr_mimebundle_()[1][EXPERIMENTS] == found


def test_a_code_listing_is_only_text() -> None:
    assert "<b>" not in listing("toy/header", "<b>", "")


def test_without_packets_a_page_tells_where_there_are_some(told: Article) -> None:
    (rate,) = told["rate"].records
    said = answers(told)[rate.address]
    assert "No trial of this claim, or of any" in said
    assert "No trial of this claim, or of any" in experiments(told)["toy/rate"]
    assert ">Packets</a>" not in experiments(told)["toy/rate"], "there are none"
    assert said.index('class="about elsewhere"') < said.index("<table"), "on the first screen"
    assert "elsewhere" not in answers(told)[told["header"].records[0].address]


def test_a_witness_shows_its_own_figure_before_the_claims(told: Article) -> None:
    found = answers(told)
    said = next(page for page in found.values() if "does not count for the verdict" in page)
    first, _, rest = said.partition("</p>")
    assert first.startswith('<p class="answer"><span class="verdict explains"')
    assert "<strong>32 B</strong> measured" in first
    assert '<span class="verdict not-reproduced"' in rest, "the claim's verdict is not the trial's"


def test_a_trials_entry_has_its_figure_and_what_it_counts_for(told: Article) -> None:
    (rate,) = told["rate"].records
    entry = answers(told)[rate.address].partition('id="cite"')[2]
    assert "A trial of the claim:" in entry
    assert " measured" in entry
    assert f"Verdict of the claim: {told['rate'].verdict.kind}" in entry
    witness = next(page for page in answers(told).values() if "does not count for the verdict" in page)
    assert "It does not count for the claim's verdict" in witness.partition("How to cite")[2].replace("&#x27;", "'")


def test_a_trial_with_packets_on_the_same_network_is_linked(
    keep: Keep, toy: Toy, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = here / "experiments" / "toy" / "rate.py"
    twin = source.read_text().replace("A tool says", "Another tool says")
    twin = twin.replace("qperf_goodput()", "header_length()").replace('9.4 Gbit/s", "it', '20 B", "it')
    twin = twin.replace("goodput_line_rate", "tcp_header_length")
    (here / "experiments" / "toy" / "twin.py").write_text(twin)
    keep("twin")
    monkeypatch.setattr(notebooks, "in_report", lambda: True)
    article = toy()
    (rate,), (other,) = article["rate"].records, article["twin"].records
    said = answers(article)[rate.address]
    assert "A trial of another claim on the same network has packets" in said
    assert f'<a href="../{other.address}/index.html#capture.sender.eth0.pcap">toy/twin, only</a>' in said
    assert f'href="../../trials/{other.address}/index.html#capture' in experiments(article)["toy/rate"]


def test_each_trial_of_a_claim_has_the_verdict_on_its_arm(told: Article) -> None:
    found = answers(told)
    for record in told.records:
        assert "Verdict on the arm" in found[record.address]


def test_one_of_several_trials_says_which_it_is_and_what_all_of_them_gave(
    keep: Keep, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy()
    file = Path("experiments/toy/rate.py")
    file.write_text(file.read_text().replace("arms=(", "samples=3, arms=("))
    for seed in (3, 1, 2):
        keep("rate", seed=seed)
    monkeypatch.setattr(notebooks, "in_report", lambda: True)
    claim = toy()["rate"]
    found = answers([claim])
    for record in claim.records:
        assert f"are of one trial, seed {record.trial.seed}. All trials of its arm: " in found[record.address]
        assert re.search(r"mean [\d.]+\sGbit/s, n = 3\.", found[record.address])
    drawn = figures.goodput(claim).text
    assert re.search(r"seed 1\. Only the first trial is drawn; all trials: only: mean [\d.]+\sGbit/s, n = 3\.", drawn)
    assert "Only the first" not in figures.bars(claim).text, "bars are of all trials"


def test_marks_of_claimed_figures_are_explained_at_their_table(here: Path, keep: Keep, toy: Toy) -> None:
    assert "In the column Claimed" not in toy()["header"].figures_of(toy()["header"].tested), "it has none"
    source = here / "experiments" / "toy" / "header.py"
    text = source.read_text().replace("Exactly(because", "AtLeast(because").replace("Exactly", "AtLeast, Implied")
    source.write_text(text.replace('Reported("20 B"', 'Implied("20 B"'))
    keep("header")
    shown = toy()["header"].figures_of(toy()["header"].tested)
    assert "≥\N{NO-BREAK SPACE}at least" in shown
    assert "(implied)</em> follows from the article's words" in shown


def test_a_page_gives_a_reason_once(told: Article) -> None:
    assert told["rate"].because().text == "", "its verdict stands beside the reason"
    assert "it was <code>another</code> header" in told["header"].because().text


@pytest.mark.long
@pytest.mark.skipif(not any(map(shutil.which, _PROGRAMS)), reason="there is no Chromium here")
def test_the_first_screen_answers(told: Article, here: Path, tmp_path: Path) -> None:
    """Of an article, with the words of each article of the project; of an experiment; and of a trial."""
    out = tmp_path / "report"
    records = told["header"].records
    write_trials(records, out, answers(told))
    (out / "experiments" / "toy").mkdir(parents=True)
    experiment = out / "experiments" / "toy" / "header.html"
    experiment.write_text(listing("toy/header", "CODE", experiments(told)["toy/header"]))
    pages = [experiment, *(out / "trials" / record.address / "index.html" for record in records)]
    for name, text in _articles(here):
        pages.append(out / f"{name}.html")
        pages[-1].write_text(text)
    with browser() as screen:
        for width, height in SIZES:
            screen.resize(width)
            for shown in pages:
                screen.show(shown)
                assert _bottom(screen, ".verdict") < height, (shown, width)
                assert _bottom(screen, 'a[href="#cite"]') < height, (shown, width)
                assert _bottom(screen, 'a[href="#packets"], a[href*="capture"]') < height, (shown, width)
                assert screen.evaluate("document.documentElement.scrollWidth") <= width
                screen.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
                boxes = "[...document.querySelectorAll('pre:has(.bibtex)')]"
                assert screen.evaluate(f"{boxes}.some((each) => each.scrollWidth <= each.clientWidth)"), "an entry"
                assert not screen.evaluate(f"{boxes}.some((each) => each.scrollWidth > each.clientWidth)"), "it is cut"


def _articles(here: Path) -> Iterator[tuple[str, str]]:
    """Yield, by name, the page of the toy article with the words of each of the project's articles."""
    for file in sorted((Path(__file__).parents[2] / "experiments").glob("*/article.yaml")):
        words = {key: YAML(typ="safe").load(file)[key] for key in ("title", "author", "url", "headline", "answer")}
        # JSON is YAML
        (here / "experiments" / "toy" / "article.yaml").write_text(json.dumps({"date": "1 May 2020", **words}))
        article = lab.article("toy", "results")
        yield file.parent.name, page.single("t", "", article._repr_html_() + article.test_bed().text)


def _bottom(screen: Browser, query: str) -> float:
    """Return the lower edge of the first match in pixels, far below without a match."""
    found = f"document.querySelector({query!r})"
    return float(screen.evaluate(f"{found} ? {found}.getBoundingClientRect().bottom : 1e9"))
