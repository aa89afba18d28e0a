"""The guides' Python runs as it stands: declarations with an experiment's words, the rest on a trial's records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.report.frame import COLUMNS
from lab.spec import find
from tests.docs.blocks import ROOT, Block, blocks, tutorial
from tests.docs.register import DECLARATIONS, ON_ANY_STORE, ON_KERNELS, ON_RECORDS, TUTORIALS

WORDS = """
import pathlib
from pathlib import Path

import lab
from lab.app.language import *
from lab import metric, model
"""
TUTORED = {block for page, part in TUTORIALS for block in tutorial(page, part)}


def of(page: str) -> list[Block]:
    return [block for block in blocks() if block.language == "python" and block.page == ROOT / page]


def run(block: Block, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(block.text, str(block.page.relative_to(ROOT)), "exec"), names)  # the project's own
    return names


def test_every_block_is_run() -> None:
    tutored = {(block.page, block.text) for block in TUTORED}
    pages = {block.page for block in blocks() if block.language == "python" and (block.page, block.text) not in tutored}
    assert pages == {ROOT / page for page in (*DECLARATIONS, *ON_ANY_STORE, *ON_KERNELS, *ON_RECORDS)}, (
        "add these to tests/docs/register.py"
    )


@pytest.mark.parametrize("block", [block for page in DECLARATIONS for block in of(page)])
def test_a_declaration_is_taken(block: Block, tmp_path: Path) -> None:
    """One that is whole is read as `lab check` reads a file; a part, with the words of an experiment at hand."""
    if "from mininet" in block.text:
        pytest.importorskip("mininet", reason="Mininet is not installed: make setup-host")
    if "EXPERIMENT = " in block.text:
        file = tmp_path / "experiments" / "guide" / "shown.py"
        file.parent.mkdir(parents=True)
        file.write_text(f'"""The guide says so."""\n\n{block.text}')
        (read,) = find.find([str(file)])
        assert {case.arm for case in read.cases()} == {arm.name for arm in read.experiment.arms}
        return
    words: dict[str, Any] = {}
    exec(WORDS, words)
    assert run(block, dict(words)).keys() > words.keys()


@pytest.mark.parametrize("page", ON_ANY_STORE)
def test_a_frame_is_read_as_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in of(page):
        run(block, names)
    assert names["frame"].columns == [*COLUMNS]


@pytest.mark.parametrize("block", [block for page in ON_KERNELS for block in of(page)])
def test_python_that_needs_kernels_names_what_there_is(block: Block) -> None:
    compile(block.text, str(block.page.relative_to(ROOT)), "exec")
    for name in re.findall(r"\blab\.(\w+)\(", block.text):
        assert callable(getattr(lab, name))


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("page", ON_RECORDS)
def test_the_interface_does_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in of(page):
        run(block, names)
    assert "<svg " in (tmp_path / "window.svg").read_text()
    assert names["claim"].id == "tcp-bottleneck/window-plateau"
    assert names["claim"].passed
