"""`lab new`, and the README's tutorial that starts with it: typed as it stands, it prints what stands there."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from lab.cli.templates import TEMPLATES

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

Type = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def type_in(tmp_path: Path) -> Type:
    """Runs a command in a folder of one's own, with the lab's programs on the path."""

    def run(command: str) -> subprocess.CompletedProcess[str]:
        path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
        return subprocess.run(
            command.split(), cwd=tmp_path, env={**os.environ, **path}, capture_output=True, text=True, timeout=200
        )

    return run


def tutorial() -> Iterator[tuple[str, str, str]]:
    """(language, what it says, the file last named before it) of each block of the tutorial."""
    section = (ROOT / "README.md").read_text().partition("## Write your own")[2].partition("\n## ")[0]
    for match in re.finditer(r"```(\w+)\n(.*?)```", section, re.DOTALL):
        named = re.findall(r"Into `([^`]+)`:\s*$", section[: match.start()])
        yield match[1], match[2], named[-1] if named else ""


@pytest.mark.guest
def test_the_tutorial_prints_what_it_says(type_in: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for language, text, file in tutorial():
        if language == "console":
            for command, said in re.findall(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", text, re.MULTILINE):
                done = type_in(command)
                assert done.returncode == 0, done.stderr
                assert _lasting(said).strip() in _lasting(f"{done.stdout}{done.stderr}"), command
        elif language == "pycon":
            monkeypatch.chdir(tmp_path)
            found = doctest.DocTestParser().get_doctest(text, {}, "tutorial", "README.md", 0)
            assert doctest.DocTestRunner().run(found).failed == 0
        else:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(text)


def _lasting(said: str) -> str:
    """Without what another machine's clock, or another kernel's last digits, may say differently."""
    return re.sub(r" in [\d.]+s|\s+(?:[+-]|< )?[\d.]+ %", "", said)


def test_the_answer_is_the_contract(type_in: Type, tmp_path: Path) -> None:
    answer = json.loads(type_in("lab new my-own/first.claim --json").stdout)
    assert answer["claim"] == "my-own/first.claim"
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(answer["files"])
    compile((tmp_path / "tests/experiments/test_my_own_first_claim.py").read_text(), "test", "exec")


def test_an_editor_finds_the_schema_of_the_topology(type_in: Type, tmp_path: Path) -> None:
    type_in("lab new mine/one")
    topology = tmp_path / "topologies" / "one.yaml"
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", topology.read_text())
    assert named
    schema = json.loads((topology.parent / named[1]).read_text())
    assert schema == json.loads(type_in("lab schema").stdout)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", schema["$id"])
    jsonschema.validate(YAML(typ="safe").load(topology), schema)


def test_another_claim_of_the_article_keeps_what_is_there(type_in: Type, tmp_path: Path) -> None:
    type_in("lab new mine/one")
    about = tmp_path / "experiments" / "mine" / "article.yaml"
    about.write_text("title: My own\nauthor: me\ndate: today\nurl: unknown\n")
    assert type_in("lab new mine/two").returncode == 0
    assert "My own" in about.read_text()
    assert "Save some bandwidth" in _about(type_in, tmp_path, "tcp-timestamps/mine"), "as the project knows it"


def _about(type_in: Type, folder: Path, name: str) -> str:
    assert type_in(f"lab new {name}").returncode == 0
    return (folder / "experiments" / name.split("/")[0] / "article.yaml").read_text()


def test_the_tutorial_of_a_figure_makes_no_mistake(type_in: Type, tmp_path: Path) -> None:
    """Its console is typed, its files are written; what it says of running is for a reader."""
    text = (ROOT / "docs" / "own-figure.md").read_text()
    for match in re.finditer(r"```(\w+)\n(.*?)```", text, re.DOTALL):
        if match[1] == "console":
            for command, said in re.findall(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", match[2], re.MULTILINE):
                done = type_in(command)
                assert done.returncode == 0, done.stderr
                assert f"{done.stdout}{done.stderr}".strip() == said.strip()
        elif named := re.findall(r"Into `([^`]+)`:\s*$", text[: match.start()]):
            (tmp_path / named[-1]).write_text(match[2])


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_a_template_makes_has_no_mistake(type_in: Type, template: str) -> None:
    assert type_in(f"lab new mine/one --template {template}").returncode == 0
    checked = type_in("lab check topologies/one.yaml experiments/mine/one.py")
    assert (checked.returncode, checked.stderr) == (0, "no mistakes found\n")


@pytest.mark.guest
def test_the_template_of_a_program_runs_as_it_is(type_in: Type) -> None:
    type_in("lab new mine/one --template program")
    ran = type_in("lab run mine/one")
    assert ran.returncode == 0, ran.stderr
    assert "mine/one  reproduced" in ran.stdout


def test_a_template_that_there_is_not_is_refused(type_in: Type, tmp_path: Path) -> None:
    done = type_in("lab new mine/one --template poem")
    assert (done.returncode, done.stderr) == (2, "lab: --template poem: it is transfer, flows, program\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["one", "a/b/c", "/one", "mine/", "../mine/one", "mine/.one", "mine/o ne"])
def test_a_name_is_article_and_claim(type_in: Type, tmp_path: Path, name: str) -> None:
    done = type_in(f"lab new {name}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(type_in: Type, tmp_path: Path) -> None:
    type_in("lab new mine/one")
    mine = tmp_path / "experiments" / "mine" / "one.py"
    mine.write_text("mine")
    done = type_in("lab new mine/one")
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ["lab: experiments/mine/one.py exists already: choose another name, or change that file"],
    )
    assert mine.read_text() == "mine"
    assert "no-drops.py exists already" in type_in("lab new tcp-bottleneck/no-drops").stderr
