"""Pages, terminal and JSON tell apart what was reported and what is implied, what counts and what explains."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path

import pytest

import lab
from lab.record.record import Record
from lab.report import html
from lab.report.claim import Claim
from lab.report.dots import dots
from tests.report.conftest import declare, kept

Keep = Callable[..., list[Record]]

# Captured headers have 32 bytes.
ARMS = {
    "reproduced": 'Arm("on", Reported("32 B", "32-bytes length")),',
    "partly": """
        Arm("on", Reported("32 B", "32-bytes length", part="it has 32")),
        Arm("also", Implied("20 B", "no options", part="it has 20")),
        Arm("era", Reported("32 B", "so"), Demonstrated("an `era` ago it had"), sysctls={"net.ipv4.tcp_sack": 1}),
    """,
    "not reproduced": """
        Arm("on", Implied("20 B", "no options")),
        Arm("fit", Implied("20 B", "no options"), Consistent("a guess", fitted=("a size",))),
    """,
    "not testable as stated": 'Arm("on", Reported("32 B", "32-bytes"), Demonstrated("read so, it has")),',
}
MORE = {
    "not reproduced": 'unexplained="nobody knows",',
    "not testable as stated": 'untestable=(Untestable("should be short", because="it is advice"),),',
}
RATIO = 'Arm("off"), Arm("over", Reported(1, "the same"), relative_to="off", sysctls={"net.ipv4.tcp_sack": 1}),'
HISTORY = """sentence:
- {date: 2029-12-31, change: It was 21., why: Before a run., moves: [{what: "on", was: "21 B", now: "20 B"}]}
- {date: 2030-01-01, change: It is 20., why: After a run.}
"""


def write(place: Path, verdict: str) -> None:
    """Declare a claim `sentence`, with that verdict on records that no trial made."""
    folder = place / "experiments" / "toy"
    header = (folder / "header.py").read_text()
    start, end = header.index("    arms=("), header.index("    tolerance=")
    arms = f"    arms=({ARMS[verdict]}),\n    {MORE.get(verdict, '')}\n"
    text = header[:start] + arms + header[end:]
    text = text.replace('expect="not reproduced"', f'expect="{verdict}"')
    names = "import Arm, Consistent, Implied, Untestable,"
    (folder / "sentence.py").write_text(text.replace("import Arm,", names))
    (folder / "history.yaml").write_text(HISTORY)


@pytest.fixture
def shown(here: Path, keep: Keep) -> Callable[[str], None]:
    """Declares the claim with that verdict in the current directory, with records."""

    def shown(verdict: str) -> None:
        write(here, verdict)
        keep("sentence")

    return shown


@pytest.fixture(scope="module")
def claim_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Claim]:
    """The claim with that verdict, judged once for tests that only look at it."""

    @cache
    def claim_of(verdict: str) -> Claim:
        place = tmp_path_factory.mktemp("sentence")
        declare(place)
        write(place, verdict)
        kept(place, "sentence", "", {})
        with chdir(place):
            return lab.load("toy", results=place / "results")["sentence"]

    return claim_of


@pytest.fixture(scope="module")
def page_of(claim_of: Callable[[str], Claim]) -> Callable[[str], str]:
    """What a page shows of the claim with that verdict, drawn once."""
    return cache(lambda verdict: claim_of(verdict)._repr_html_())


@pytest.mark.parametrize("verdict", ARMS)
def test_each_verdict_reaches_page_terminal_and_json(
    claim_of: Callable[[str], Claim], page_of: Callable[[str], str], verdict: str
) -> None:
    claim = claim_of(verdict)
    assert claim.verdict.kind == verdict
    assert claim.passed
    page = page_of(verdict)
    assert f'class="verdict {verdict.replace(" ", "-")}"' in page
    assert repr(claim).splitlines()[0] == f"toy/sentence  {verdict}"
    assert json.loads(json.dumps(claim.judged.result.plain()))["verdict"] == verdict


def test_what_cannot_be_tested_has_its_reason_among_the_dots(shown: Callable[[str], None], keep: Keep) -> None:
    shown("not testable as stated")
    keep("header")
    row = next(row for row in dots(lab.load("toy", results="results")).text.split("<li>") if "#sentence" in row)
    assert 'title="not testable as stated"' in row
    assert "it is advice" in row
    assert "#unrun" not in dots(lab.load("toy", results="results")).text


def test_a_dot_on_its_claim_says_why_another_part_has_no_figure(
    here: Path, shown: Callable[[str], None], keep: Keep
) -> None:
    shown("partly")
    source = here / "experiments" / "toy" / "sentence.py"
    text = source.read_text().replace('Implied("20 B"', 'Implied("32 B"')
    source.write_text(text.replace("    tolerance=", f"    {MORE['not testable as stated']}\n    tolerance="))
    keep("sentence")
    claim = lab.load("toy", results="results")["sentence"]
    assert claim.verdict.kind == "partly"
    row = dots([claim]).text
    assert re.search(r'class="sign not-testable-as-stated"[^>]*>\?</span> should be short: it is advice', row)


def test_a_page_says_where_figures_come_from_and_what_is_only_implied(page_of: Callable[[str], str]) -> None:
    page = page_of("partly")
    assert "32\N{NO-BREAK SPACE}B is reported: “32-bytes length”" in page
    assert '<span class="implied" title="no options">20 B (implied)</span>' in page
    assert "header_length(" in page, "what is measured"


def test_a_terminal_sets_what_is_implied_in_brackets(claim_of: Callable[[str], Claim]) -> None:
    text = repr(claim_of("partly"))
    assert "(20 B)" in text
    assert "in brackets" in text
    assert "  it has 32: reproduced" in text.splitlines()
    assert "in brackets" not in repr(claim_of("reproduced"))


def test_an_arm_that_explains_is_never_shown_as_reproduced(page_of: Callable[[str], str]) -> None:
    row = next(row for row in page_of("partly").split("<tr") if 'data-label="Arm"' in row and ">era<" in row)
    assert "explains: demonstrated" in row
    assert "reproduced" not in row


def test_a_verdict_stands_once_before_its_reason(claim_of: Callable[[str], Claim]) -> None:
    for verdict in ("partly", "not testable as stated"):
        claim = claim_of(verdict)
        assert claim._parts()["verdict"].count('class="verdict') == 1
        signs = claim.reason.count('class="sign')
        assert signs == (len(claim.judged.result.parts) if len(claim.judged.result.parts) > 1 else 0)


def test_a_sections_heading_has_all_names_of_its_claim(
    claim_of: Callable[[str], Claim], page_of: Callable[[str], str]
) -> None:
    claim = claim_of("reproduced")
    heading = re.search("<h2.*?</h2>", page_of("reproduced"))
    assert heading
    for name in (claim.short, claim.id, html.prose(claim.judged.declared.claim)):
        assert name in heading[0]


def test_the_reason_has_its_grade(claim_of: Callable[[str], Claim]) -> None:
    assert claim_of("partly").why.endswith("an <code>era</code> ago it had")
    assert "demonstrated" in claim_of("partly").why
    why = claim_of("not reproduced").why
    assert "open" in why
    assert "nobody knows" in why, "a witness whose figure does not come back is no reason"
    assert "1 parameter fitted: a size" in claim_of("not reproduced").because().text
    failed = claim_of("not reproduced").because().text
    assert ">not borne out</span>" in failed
    assert "does not support that explanation" in failed
    assert ">demonstrated<" not in failed, "one statement, not a grade and its contrary"


def test_a_witness_is_borne_out_at_some_points_or_has_no_grade(here: Path, keep: Keep) -> None:
    source = here / "experiments" / "toy" / "sweep.py"
    witness = 'Arm("only"), Arm("why", explains=Demonstrated("so"), sysctls={"net.ipv4.tcp_sack": 1})'
    for figures, said in (((1, 0), ""), ((1, 1), "borne out at 1 of 2 points"), ((0, 1), html.NOT_BORNE_OUT)):
        text = source.read_text()
        text = re.sub(r'Reported\(\d, "too small"\)', f'Reported({figures[0]}, "too small")', text)
        text = re.sub(r'Reported\(\d, "enough"\)', f'Reported({figures[1]}, "enough")', text)
        source.write_text(text.replace('Arm("only"),)', f"{witness})"))
        keep("sweep")
        told = lab.load("toy", results="results")["sweep"].because().text
        assert said in told
        assert (">demonstrated<" in told) == (said != html.NOT_BORNE_OUT), "one statement, not both"


def test_witnesses_of_one_explanation_share_its_paragraph(here: Path, shown: Callable[[str], None], keep: Keep) -> None:
    shown("partly")
    source = here / "experiments" / "toy" / "sentence.py"
    era = (
        """Arm("era", Reported("32 B", "so"), Demonstrated("an `era` ago it had"), sysctls={"net.ipv4.tcp_sack": 1}),"""
    )
    source.write_text(source.read_text().replace(era, era + era.replace("era", "age", 1).replace("sack", "dsack")))
    keep("sentence")
    told = lab.load("toy", results="results")["sentence"].because().text
    assert told.count("<p>") == told.count("ago it had") == 1
    assert told.index("<strong>era</strong>") < told.index("<strong>age</strong>") < told.index("ago it had")


def test_a_ratio_leads_to_both_of_its_trials(here: Path, shown: Callable[[str], None], keep: Keep) -> None:
    shown("reproduced")
    source = here / "experiments" / "toy" / "sentence.py"
    text = source.read_text().replace('Arm("on", Reported("32 B", "32-bytes length")),', RATIO)
    source.write_text(text.replace("prediction=model.tcp_header_length,", "").replace("model", "model, AtMost"))
    keep("sentence")
    section = lab.load("toy", results="results")["sentence"]._repr_html_()
    (base,) = {*re.findall(r'href="([^"]+)" title="[0-9a-f]{64}">÷ off</a>', section)}
    own = re.findall(r'over: .*?href="([^"]+)" title="[0-9a-f]{64}">trial</a>', section)
    assert own
    assert base not in own


def test_an_articles_page_has_its_test_bed(shown: Callable[[str], None]) -> None:
    shown("reproduced")
    page = lab.article("toy", "results").test_bed().text
    assert "Linux 7.2.13-1, HZ 1000" in page
    assert "congestion control cubic, tcp_rmem 4096 131072 6291456" in page


def test_a_page_shows_the_claims_history_with_the_last_change_first(page_of: Callable[[str], str]) -> None:
    page = page_of("reproduced")
    assert "<code>on</code>: 21 B → 20 B" in page
    assert page.index("2030-01-01: It is 20. After a run.") < page.index("2029-12-31: It was 21. Before a run.")
