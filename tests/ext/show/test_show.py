"""`lab show`: a claim in the terminal, from records that nobody ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.cli.app import app
from lab.errors import InputError
from lab.ext.show import viewer
from lab.report.article import Article
from tests.report.conftest import here, keep, toy, toys

__all__ = ["here", "keep", "toy", "toys"]  # fixtures

Toy = Callable[[], Article]


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["show", *arguments, "--results", "results"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_claim_has_answer_figures_reason_and_bars(toy: Toy) -> None:
    toy()
    said = shown("toy/header")
    assert "A header has 32 bytes" in said
    assert "Why (demonstrated): it was another header" in said
    assert "toy/header  not reproduced" in said
    bar = next(line for line in said.splitlines() if line.startswith("on ") and "█" in line)
    assert bar.rstrip().endswith("32 B")
    assert bar.index("┃") == bar.index("█") + 20, "20 B are claimed where 32 letters are 32 B"
    assert max(map(len, said.splitlines())) <= 80


def test_a_bar_without_length_is_marked(toy: Toy) -> None:
    toy()
    lines = shown("toy/sweep").splitlines()
    one, none = (line for line in lines if line.startswith("only at") and ("█" in line or "○" in line))
    assert one.rstrip().endswith(" 1")
    assert "┃○" in none, "0 claimed, too"
    assert none.rstrip().endswith(" 0")
    assert one.rindex("1") == none.rindex("0"), "bars have one width"


def test_an_article_begins_with_its_answer(here: Path, toy: Toy) -> None:
    about = here / "experiments" / "toy" / "article.yaml"
    about.write_text(about.read_text() + "headline: So it is\nanswer: Because `it` is.\n")
    toy()
    lines = shown("toy").splitlines()
    assert lines[0].strip() == "So it is"
    assert lines[1].strip() == "Because it is."
    assert sum(line.strip().startswith("toy/") for line in lines) == 4


def test_it_is_one_json_document_too(toy: Toy) -> None:
    toy()
    assert json.loads(shown("toy/header", "--json"))["claims"][0]["claim"] == "toy/header"


def test_its_packets_are_opened(toy: Toy, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy()
    program = here / "bin" / "tshark"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$2" >opened\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    for screen in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(screen, raising=False)
    shown("toy/header", "--capture", "--arm", "on")
    assert (here / "opened").read_text().strip().endswith("out/capture.sender.eth0.pcap")


def test_at_a_terminal_tsharks_list_goes_through_the_pager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "tshark"
    warning = 'Running as user \\"root\\" and group \\"root\\". This could be dangerous.'
    program.write_text(f'#!/bin/sh\necho "{warning}" >&2\necho "cut short" >&2\nseq 1 100000\nexit 3\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("PAGER", f"sh -c 'head -n 2 >{tmp_path}/seen; cat >/dev/null'")
    for screen in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(screen, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert viewer.show_packets(tmp_path / "x.pcap") == 3
    assert (tmp_path / "seen").read_text() == "1\n2\n"
    assert capsys.readouterr().err == "cut short\n", "the warning about root is for captures"
    monkeypatch.setenv("PAGER", "true")
    assert viewer.show_packets(tmp_path / "x.pcap") in (0, 3), "a pager that is left early is no failure"


def test_claims_that_did_not_run_are_one_line_each(toy: Toy) -> None:
    toy()
    said = shown("toy")
    assert "Not run (`lab run toy` runs them)" in said
    line = next(line.strip() for line in said.splitlines() if line.startswith("  toy/"))
    assert said.count(line) == 1


def test_without_packets_it_says_what_to_run(toy: Toy) -> None:
    toy()
    with pytest.raises(InputError, match="toy/rate ran, but none of its probes captures packets"):
        shown("toy/rate", "--capture")


def test_the_trials_addresses_and_the_bars_mark_are_told(toy: Toy) -> None:
    claim = toy()["header"]
    said = " ".join(shown("toy/header").split())
    assert "┃ claimed" in said
    assert f"Trials: {', '.join(record.address[:12] for record in claim.records)}" in said
    assert "toy/header" in shown(claim.records[0].address[:12])
