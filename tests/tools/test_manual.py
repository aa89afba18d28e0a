"""The manual page says what the commands say, and a shell completes names."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main
from ruamel.yaml import YAML

from lab.cli import completion
from lab.cli.app import app
from tools import manual

ROOT = Path(__file__).parents[2]
LAB = Path(sys.executable).parent / "lab"


def test_the_page_is_that_of_the_commands() -> None:
    assert (ROOT / "docs" / "lab.1").read_text() == manual.page(), "`make man` writes it anew"


def test_the_page_has_every_command_and_option() -> None:
    said = manual.page().replace("\\-", "-")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        assert f".SS lab {name} " in said
        for option in (
            option for each in command.params if not each.hidden for option in each.opts if option.startswith("--")
        ):
            assert option in said


def test_the_command_says_its_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert subprocess.check_output([LAB, "--version"], text=True) == f"replab {project['version']}\n"


def test_a_line_that_troff_would_take_for_a_request_is_text() -> None:
    assert manual._text(".SH\n'x\n\\fB -a") == "\\&.SH\n\\&'x\n\\efB \\-a"


def completed(line: str, folder: Path) -> list[str]:
    """What bash is offered after `line`."""
    words = line.split(" ")
    asked = {"_LAB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([LAB], env={**os.environ, **asked}, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.stdout.split()


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("lab run tcp-nodelay/c", ["tcp-nodelay/cork", "tcp-nodelay/cork-sendfile"]),
        ("lab run tcp-timestamps", ["tcp-timestamps", "tcp-timestamps/flent-download"]),
        ("lab graph symmetric", ["symmetric-10g", "symmetric-1g"]),
        ("lab shell sha", ["shared-bottleneck"]),
        ("lab run no-such", []),
    ],
)
def test_names_are_completed(line: str, offered: list[str], tmp_path: Path) -> None:
    assert completed(line, tmp_path)[: len(offered) or None] == offered


def test_kernels_are_completed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("7.2", "7.2-mine", "6.12"):
        place = tmp_path / "replab" / "kernels" / name
        place.mkdir(parents=True)
        record = '{"name": "%s", "version": "1", "id": "0", "hz": 1, "patches": [], "clock": 1, "seccomp": true}'
        (place / "kernel.json").write_text(record % name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert sorted(completion.kernels("7.2")) == ["7.2", "7.2-mine"]


def test_what_is_cited_is_what_is_installed() -> None:
    cited = YAML(typ="safe").load(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (cited["title"], cited["version"], cited["license"]) == (
        project["name"],
        project["version"],
        project["license"],
    )
    assert cited["authors"] == project["authors"]
