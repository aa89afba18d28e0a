"""What a reader of a report would stumble over is found: links that lead nowhere, and what a screen shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.errors import InputError, MachineError
from lab.ext.pagecheck import inspection
from lab.ext.pagecheck.browser import _PROGRAMS

PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<title>t</title></head><body style="margin:0">{}</body></html>'
)
GOOD = '<h1 id="a">A</h1><p><a href="other.html#b">b</a> <a href="https://example.org/">out</a></p>'
in_browser = pytest.mark.skipif(not any(map(shutil.which, _PROGRAMS)), reason="there is no Chromium here")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "other.html").write_text(PAGE.format('<h1 id="b">B</h1><a href="index.html#a">a</a>'))
    (folder / "index.html").write_text(PAGE.format(GOOD))
    (tmp_path / "outside.html").write_text("")
    return folder


def dead(report: Path) -> list[str]:
    return list(inspection.links(report, sorted(report.rglob("*.html"))))


def test_links_that_lead_somewhere(report: Path) -> None:
    assert dead(report) == []


def test_a_report_may_be_named_from_here(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (report / "index.html").write_text(PAGE.format(f'{GOOD}<a href="#a">up</a>'))
    monkeypatch.chdir(report.parent)
    assert dead(Path("report")) == []


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("none.html", "leads nowhere"),
        ("other.html#c", "no such section"),
        ("#c", "no such section"),
        ("../outside.html", "leads out of the report"),
        ("file:///etc/passwd", "leads out of the report"),
        ("figures/", "leads nowhere"),
    ],
)
def test_dead_links(report: Path, link: str, says: str) -> None:
    (report / "figures").mkdir()
    (report / "index.html").write_text(PAGE.format(f'{GOOD}<a href="{link}">x</a>'))
    (found,) = dead(report)
    assert found.startswith(f"index.html: the link {link}")
    assert says in found


@pytest.mark.long
@in_browser
def test_a_screen_shows_what_is_too_wide_too_small_and_without_words(report: Path) -> None:
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
    bad = (
        '<div id="wide" style="width:900px">wide</div><p id="small" style="font-size:8px">small</p>'
        f'<img src="{pixel}"><svg id="s" viewBox="0 0 720 100" style="width:360px" aria-label="s">'
        '<text y="50" font-size="16">shrunk</text></svg>'
    )
    (report / "index.html").write_text(PAGE.format(GOOD + bad))
    found = inspection.inspect(report, lambda _: None)
    assert found.exit_code == 1
    said = "\n".join(found.problems)
    for text in (
        "index.html at 390 px: 900 px wide",
        "index.html at 768 px: 900 px wide",
        "small",
        "shrunk",
        "without words",
    ):
        assert text in said
    assert "at 1100 px" not in said
    assert "other.html" not in said


@pytest.mark.long
@in_browser
def test_a_text_that_its_picture_cuts_is_named(report: Path) -> None:
    svg = '<svg aria-label="a" viewBox="0 0 300 20" width="300" font-size="16"><text x="{}" y="16">1200 ms</text></svg>'
    (report / "index.html").write_text(PAGE.format(GOOD + svg.format(280)))
    (report / "other.html").write_text(PAGE.format('<h1 id="b">B</h1><a href="index.html#a">a</a>' + svg.format(100)))
    assert inspection.inspect(report, print).problems == ("index.html: a picture cuts its text (text: 1200 ms)",)


@pytest.mark.long
@in_browser
def test_a_page_that_scrolls_a_part_is_not_too_wide(report: Path) -> None:
    (report / "index.html").write_text(
        PAGE.format(f'{GOOD}<div style="overflow-x:auto"><div style="width:3000px">wide</div></div>')
    )
    assert inspection.inspect(report, lambda _: None) == inspection.Inspection(2, ())


@pytest.mark.long
@in_browser
def test_rules_that_a_page_breaks_are_named(report: Path, tmp_path: Path) -> None:
    """The script stands for axe-core: it breaks a rule where a reader wants dark colours, once per heading."""
    script = tmp_path / "axe.js"
    script.write_text(
        """window.axe = {run: async () => ({violations: matchMedia("(prefers-color-scheme: dark)").matches ? [{
          id: "dark", help: "No heading",
          nodes: [...document.querySelectorAll("h1")].map((each) => ({target: ["#" + each.id]})),
        }] : []})}"""
    )
    found = inspection.inspect(report, lambda _: None, script)
    assert found.problems == (
        "index.html at 1100 px, dark: No heading (dark, 1 times), as #a",
        "other.html at 1100 px, dark: No heading (dark, 1 times), as #b",
    )
    assert found.exit_code == 1


def test_a_file_that_is_no_script_ends_in_one_message(report: Path) -> None:
    for file in (report / "index.html", report / "none.js"):
        with pytest.raises(InputError, match=str(file)):
            inspection.inspect(report, lambda _: None, file)


def test_without_a_browser_it_says_what_to_install(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MachineError, match="apt install chromium"):
        inspection.inspect(report, lambda _: None)
