"""The index of a report names what a citation needs, from the records alone."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from importlib.metadata import version
from pathlib import Path

import pytest

import lab
from lab.record.record import Record
from lab.report import notebooks
from lab.report.article import Article
from lab.report.colophon import citation, colophon, imprint, kernels
from tests.report.conftest import KERNEL, Keep


def test_it_names_version_kernel_and_days(keep: Keep) -> None:
    records = keep("header")
    shown = colophon(records)
    assert f"replab {version('replab')}" in shown
    assert f"Linux {KERNEL['version']}" in shown
    assert "<dt>Run</dt><dd>date unknown</dd>" in shown, "these records were not made by a run"
    assert shown.count("@software{replab,") == 1
    assert colophon(records) == shown


def test_without_records_there_is_nothing_to_cite() -> None:
    assert colophon([]) == ""
    assert imprint([], "#cite", "#claims") == ""


def test_a_page_starts_with_kernel_day_version_and_a_way_to_cite(keep: Keep) -> None:
    records = keep("header")
    line = imprint([*records, *records], "#cite", "#packets")
    kernel = f"Linux {KERNEL['version']}, HZ {KERNEL['hz']}"
    assert f"{kernel} · 2 trials, run date unknown · replab {version('replab')}" in line, "each trial counts once"
    assert '<a href="#cite">Cite</a>' in line
    assert '<a href="#packets">Packets</a>' in line
    assert "<a" not in imprint(keep("header"), "", "")


def test_the_year_is_that_of_the_last_run(keep: Keep) -> None:
    records = keep("header")
    assert "year = " not in colophon(records), "these records were not made by a run"
    assert "year = {2031}" in colophon([Dated(records[0].folder)])


def test_a_trial_is_cited_with_its_address_and_its_page(keep: Keep) -> None:
    record = keep("header")[0]
    page = f"trials/{record.address}/index.html"
    shown = citation("trial-1", "toy/header: 50 % & more_", [Dated(record.folder)], page)
    for text in (f"replab {version('replab')}", f"Linux {KERNEL['version']}, HZ {KERNEL['hz']}", "2031-12-31"):
        assert shown.count(text) >= 2, "in words, and in the entry"
    assert f'<a href="index.html">{page}</a>' in shown
    entry = unescape(shown[shown.index("@misc{replab-trial-1,") :])
    assert r"title = {{toy/header: 50 \% \& more\_}}," in entry
    assert f"howpublished = {{{page} in a report made with replab" in entry
    assert f"Trial {record.address}." in entry
    assert 'data-page="index.html"' in shown, "the script makes a URL of it"
    assert citation("none", "", [], "") == ""


def test_an_article_and_each_claim_that_ran_are_cited(
    toy: Callable[[], Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebooks, "in_report", lambda: True)
    article = toy()
    page = article.test_bed().text
    assert '<div id="cite"' in page
    assert "@misc{replab-toy," in page
    details = article["header"]._parts()["details"]
    assert "@misc{replab-toy-header," in details
    assert "title = {{Test of the claim: " in details
    assert f". Verdict: {article['header'].verdict.kind}}}}}" in details, "a claim is not cited as a finding"
    assert 'href="toy.html#header"' in details
    assert "@misc" not in article["unrun"]._parts()["details"]


def test_what_a_notebook_stores_has_no_dates(toy: Callable[[], Article]) -> None:
    article = toy()
    assert "@misc" not in article.test_bed().text + article["header"]._repr_html_()


class Dated(Record):
    """A record of a run on the last day of a year."""

    started = "2031-12-31T23:00:00Z"


def test_the_kernels_of_a_claim_are_the_same_in_each_place(keep: Keep) -> None:
    patched = keep("header", kernel={**KERNEL, "id": "k2", "patches": ["half-window"]})
    slow = keep("header", kernel={**KERNEL, "id": "k3", "hz": 250})
    said = "Linux 7.2.13-1, HZ 250 and 1000, also patched with half-window"
    assert kernels([*patched, *slow]) == kernels([*slow, *patched]) == said
    assert said in citation("a", "A", [*slow, *patched], "a.html")
    assert f"<dd>{said}</dd>" in colophon([*slow, *patched])
    assert "HZ 250 and 1000, also patched · 4 trials" in imprint([*slow, *patched], "", "")
    assert kernels(patched) == "Linux 7.2.13-1, HZ 1000, patched with half-window"
    assert kernels([]) == ""


def test_a_claims_test_names_the_kernels_of_all_its_arms(here: Path, keep: Keep) -> None:
    source = here / "experiments" / "toy" / "header.py"
    slow = source.read_text().replace("sysctls=", "kernel=Variant(hz=100), sysctls=")
    source.write_text(slow.replace("import Arm,", "import Arm, Variant,"))
    keep("header")
    keep("header", kernel={**KERNEL, "id": "k9", "hz": 100, "base": KERNEL["id"]})
    shown = lab.article("toy", "results")["header"]._repr_html_()
    assert "(2 trials, Linux 7.2.13-1, HZ 100 and 1000, seed 1, virtual time)" in shown


def test_a_forged_kernel_becomes_no_tag(keep: Keep) -> None:
    records = keep("header", kernel={**KERNEL, "version": "<b>}7"})
    assert "<b>" not in colophon(records) + imprint(records, "", "")
