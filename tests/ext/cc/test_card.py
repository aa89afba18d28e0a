"""A card: its scores, what stands out, and how people and programs see it."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lab.errors import MachineError
from lab.ext.cc import display, page
from lab.ext.cc.card import Card, Mixture
from lab.ext.pagecheck import inspection
from lab.ext.pagecheck.browser import _PROGRAMS
from lab.units import Value
from tests.ext.cc.cards import card, shipped_pack
from tests.terminal import printed

CASE = "rfc9743/one-flow"
MIXTURES = (Mixture("reno", {"share of the rival": Value(0.25, "1", 0.2, 0.3, 0.9)}), Mixture("bbr", {}, "it failed"))


def text(found: Card) -> str:
    return printed(display.shown(found))


def test_a_case_far_below_all_references_stands_out() -> None:
    found = card({CASE: (20.0, 20.0)})
    assert [each.case.name for each in found.notable] == [CASE]
    assert found.notable[0].below == 20
    assert "full link: 20 points below each of reno, cubic, bbr" in text(found)
    assert not card({CASE: (30.0, 30.0)}).notable, "10 points do not stand out, however little the seeds scatter"


def test_a_case_does_not_stand_out_within_the_scatter_of_the_references_seeds() -> None:
    assert card({CASE: (20.0,)}, scatter=9).notable, "20 is more than 18, from the lowest seed to the highest"
    assert not card({CASE: (20.0,)}, scatter=11).notable
    assert not card({CASE: (20.0, 20.0)}, scatter=9).notable, "the interval of two seeds with 31 and 49 reaches 0"
    assert not card({CASE: (10.0, 30.0)}).notable, "the interval of 10 and 30 reaches 100"


def test_references_of_another_version_point_nothing_out() -> None:
    found = replace(card({CASE: (20.0, 20.0)}), measured_on="7.1.2-1")
    assert not found.notable
    assert "no case is compared, because the references ran on 7.1.2-1" in text(found)
    assert "no case is compared, because the references ran on 7.1.2-1" in page.render(found)
    assert "dot low" not in page.render(found)
    same = replace(found, measured_on="7.2.13-2")
    assert [each.case.name for each in same.notable] == [CASE], "another package of the same version"
    assert "compared" not in text(same)


def test_a_card_says_that_there_are_no_references_with_its_seeds() -> None:
    found = card()
    found = replace(found, seed=5, cases=tuple(replace(each, references={}) for each in found.cases))
    assert "no case is compared, because the references did not run with seeds 5 to 6" in text(found)


def test_a_case_that_cannot_run_does_not_count() -> None:
    found = card({CASE: ()}, why="no such queue")
    assert found.scores["case"].points == pytest.approx(55)
    assert len(found.scored) == len(found.cases) - 1
    assert "full link: no such queue" in text(found)


def test_the_references_have_scores_of_the_same_cases() -> None:
    assert card().reference_scores == {"reno": 40, "cubic": 50, "bbr": 60}


def test_the_path_that_matters_most_is_named() -> None:
    (first, *_) = card().cases
    assert first.furthest == ("half the rate", -5)
    assert "points at half the rate" in text(card())


def test_text_fits_a_terminal() -> None:
    lines = text(card(mixtures=MIXTURES)).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("mine on 7.2: 35 cases, seeds 1 to 2") for line in lines)


def test_plain_data_names_every_case_and_is_the_same_twice() -> None:
    found = card(mixtures=MIXTURES)
    plain = found.plain()
    assert plain == card(mixtures=MIXTURES).plain()
    assert plain["score"]["case"]["points"] == pytest.approx(55)
    assert plain["mixtures"][0]["figures"]["share of the rival"]["value"] == 0.25
    assert {each["case"] for each in plain["cases"]} == {each.case.name for each in found.cases}


def test_a_card_names_its_scales() -> None:
    found = card()
    assert found.plain()["scales"] == found.scales == shipped_pack().scales
    assert f"version {found.scales} of the scales" in page.render(found)


def test_the_legend_comes_before_the_first_row() -> None:
    shown = page.render(card({}))
    assert "ref ref-2" in (key := re.search('<p class="key">.*?</p>', shown, re.S)[0])  # type: ignore[index]
    assert shown.index(key) < shown.index('<ol class="dots">')


def test_the_page_is_one_file_that_escapes_names(tmp_path: Path) -> None:
    found = card(mixtures=(Mixture("<script>", {}, "<b>failed</b>"),))
    page.write(found, tmp_path / "out" / "card.html")
    written = (tmp_path / "out" / "card.html").read_text()
    assert "<script>" not in written
    assert "<b>failed" not in written
    assert written == page.render(found)
    assert list(inspection.links(tmp_path, [tmp_path / "out" / "card.html"])) == []


@pytest.mark.skipif(not any(map(shutil.which, _PROGRAMS)), reason="there is no Chromium here")
@pytest.mark.long
def test_the_page_fits_phones_and_desktops(tmp_path: Path) -> None:
    page.write(card({CASE: (20.0, 20.0)}, MIXTURES), tmp_path / "card.html")
    assert inspection.inspect(tmp_path, lambda _: None).problems == ()


def test_a_page_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot write"):
        page.write(card(), tmp_path / "file" / "card.html")


def test_a_changed_congestion_control_is_compared_with_the_unchanged_one() -> None:
    (first, *rest) = card({CASE: (35.0, 35.0)}).cases
    found = replace(card(), cases=(replace(first, base="cubic"), *rest))
    assert [each.case.name for each in found.notable] == [CASE], "35 is 15 below CUBIC's 50, but only 5 below Reno's 40"
    assert "full link: 15 points below the unchanged cubic" in text(found)
