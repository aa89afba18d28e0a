"""A claim is followed over all kernels that a store has records of, and the page and the terminal say what changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import app as api
from lab.ext.comparison.api import compare
from lab.ext.show import display as showing
from lab.record.store import Store
from lab.report import text
from tests.ext.comparison.test_page import CLAIM, PCAP
from tests.kinds import Judge

Syn = Callable[..., bytes]
COMMIT = """
commits:
  - commit: "0123456789ab"
    since: "6.6"
    title: "tcp: four bytes less"
    claims: [claim]
    known: "`lab bisect` found it."
"""


@pytest.fixture
def store(judge: Judge, syn: Syn, tmp_path: Path) -> Store:
    """Records of one claim on three kernels; the MSS loses 4 bytes after the first of them."""
    for kernel, mss, window in (("6.1", 1460, 8192), ("6.12", 1456, 8192), ("7.2", 1456, 4096)):
        judge(CLAIM, {"only": [{PCAP: syn(mss=mss, window=window)}]}, kernel, version=f"{kernel}.3-1")
    for kernel in ("6.1", "6.12", "7.2"):
        for record in Store(tmp_path / kernel):
            Store(tmp_path / "results").adopt(record)
    return Store(tmp_path / "results")


def shown(store: Store) -> str:
    (claim,) = api.follow("toy/claim", results=store.root)
    assert claim.kernels is not None
    return text.unmarked(claim.kernels.text)


def test_each_kernel_has_its_verdict_and_each_step_its_change(store: Store) -> None:
    assert shown(store) == "By kernel: 6.1 ✓ verdict changed → 6.12 ✗ packets differ → 7.2 ✗"


def test_a_commit_that_is_known_stands_at_its_step(store: Store, tmp_path: Path) -> None:
    article = tmp_path / "experiments" / "toy" / "article.yaml"
    article.write_text(article.read_text() + COMMIT)
    said = shown(store)
    assert "6.1 ✓ verdict changed; since 6.6 → 6.12 ✗ packets differ → 7.2" in said
    assert "Since 6.6: 0123456789ab “tcp: four bytes less”. lab bisect found it." in said
    article.write_text(article.read_text().replace('"6.6"', '"6.13"'))
    assert "packets differ; since 6.13 → 7.2" in shown(store)
    article.write_text(article.read_text().replace('"6.13"', '"5.4"'))
    assert "0123456789ab" not in shown(store)


def test_a_page_of_two_kernels_has_the_strip_over_all_kernels(store: Store) -> None:
    changes = compare("6.12", "7.2", "toy/claim", results=store.root)
    section = text.unmarked(changes.sections().text)
    assert "By kernel: 6.1 ✓ verdict changed → 6.12 ✗ packets differ → 7.2 ✗" in " ".join(section.split())
    for record in list(store):
        if record.trial.kernel["name"] == "6.1":
            shutil.rmtree(record.folder)
    assert "By kernel" not in compare("6.12", "7.2", "toy/claim", results=store.root).sections().text


def test_a_commit_of_the_article_is_named_between_its_kernels(store: Store, tmp_path: Path) -> None:
    article = tmp_path / "experiments" / "toy" / "article.yaml"
    article.write_text(article.read_text() + COMMIT)
    found = [compare(*pair, "toy/claim", results=store.root) for pair in (("6.1", "6.12"), ("6.12", "7.2"))]
    assert ["0123456789ab" in each.overview().text for each in found] == [True, False]


def test_a_claim_that_no_trial_can_test_has_its_steps_too(judge: Judge, syn: Syn, tmp_path: Path) -> None:
    advice = CLAIM.replace(', Reported("1460 B", "it says so")', "")
    advice += 'untestable=(Untestable("it should", because="it is advice"),), expect="not testable as stated",'
    for kernel, mss in (("6.12", 1460), ("7.2", 1456)):
        judge(advice, {"only": [{PCAP: syn(mss=mss)}]}, kernel, version=f"{kernel}.3-1")
        for record in Store(tmp_path / kernel):
            Store(tmp_path / "results").adopt(record)
    assert shown(Store(tmp_path / "results")) == "By kernel: 6.12 ? packets differ → 7.2 ?"


def test_one_kernel_has_no_lineage(store: Store) -> None:
    for record in list(store):
        if record.trial.kernel["name"] != "7.2":
            shutil.rmtree(record.folder)
    (claim,) = api.follow("toy/claim", results=store.root)
    assert claim.kernels is None
    assert "By kernel" not in claim._repr_html_()


def test_pages_and_the_terminal_show_it(store: Store) -> None:
    claims = api.follow("toy/claim", results=store.root)
    assert "By kernel:" in claims[0]._repr_html_()
    assert "By kernel: 6.1 ✓" in text.plain(showing.render(claims))
    assert api.load("toy/claim", results=store.root)[0].kernels is None


def test_without_the_extension_a_claim_is_shown_on_its_own_kernel(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.app.extension.EXTENSIONS", ())
    (claim,) = api.follow("toy/claim", results=store.root)
    assert claim.kernels is None
    assert claim.verdict.kind in claim._repr_html_()


def test_a_commit_that_changed_nothing_here_is_not_named(store: Store, tmp_path: Path) -> None:
    article = tmp_path / "experiments" / "toy" / "article.yaml"
    article.write_text(article.read_text() + COMMIT.replace('"6.6"', '"6.13"'))
    (old, new) = (next(record for record in store if record.trial.kernel["name"] == name) for name in ("6.12", "7.2"))
    shutil.copytree(old.folder / "out", new.folder / "out", dirs_exist_ok=True)
    shutil.copyfile(old.folder / "record.json", new.folder / "record.json")
    assert "6.12 ✗ identical → 7.2" in shown(store)
