"""A broken file hides nothing else, and a name that nothing has gets a suggestion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.spec.errors import instead, no_file, suggestion
from tests.kinds import Type


@pytest.fixture
def project(type_here: Type, tmp_path: Path) -> Path:
    assert type_here("lab new mine/whole").returncode == 0
    (tmp_path / "experiments" / "mine" / "broken.py").write_text("def x(:\n")
    (tmp_path / "topologies" / "odd.yaml").write_text("about: 3\n")
    return tmp_path


@pytest.mark.long
@pytest.mark.usefixtures("project")
def test_the_list_shows_what_can_be_read_and_names_the_broken_files(type_here: Type) -> None:
    done = type_here("lab list mine")
    assert "mine/whole" in done.stdout
    assert "lab: experiments/mine/broken.py:1: not Python: invalid syntax\n" in done.stderr
    assert "lab: topologies/odd.yaml:1: " in done.stderr
    assert done.returncode == 2


@pytest.mark.usefixtures("project")
def test_the_list_as_json_has_the_mistakes_beside_the_claims(type_here: Type) -> None:
    done = type_here("lab list mine --json")
    plain = json.loads(done.stdout)
    assert [row["claim"] for row in plain["claims"]] == ["mine/whole"]
    assert {error["file"] for error in plain["errors"]} == {"experiments/mine/broken.py", "topologies/odd.yaml"}
    assert done.returncode == 2


@pytest.mark.usefixtures("project")
def test_an_article_shows_its_other_claims(type_here: Type) -> None:
    done = type_here("lab show mine")
    assert "mine/whole" in done.stdout
    assert done.stderr == "lab: experiments/mine/broken.py:1: not Python: invalid syntax\n"
    assert done.returncode == 2


def test_an_article_of_broken_files_only_shows_their_mistakes(project: Path, type_here: Type) -> None:
    (project / "experiments" / "mine" / "whole.py").unlink()
    done = type_here("lab show mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lab: experiments/mine/broken.py:1: not Python: invalid syntax\n"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("lab list windwo", "nothing matches 'windwo'; did you mean 'window'?"),
        pytest.param("lab list tcp-bottleneck windwo", "did you mean 'window'?", marks=pytest.mark.long),
        pytest.param("lab list window-platau", "did you mean 'tcp-bottleneck/window-plateau'?", marks=pytest.mark.long),
        ("lab show window-plateau", "did you mean 'tcp-bottleneck/window-plateau'?"),
        ("lab mininet buferbloat.py", "buferbloat.py: no such file; did you mean 'bufferbloat.py'?"),
        ("lab report tcp-botleneck", "did you mean 'tcp-bottleneck'?"),
        ("lab compare resluts results", "resluts: no such file; did you mean 'results'?"),
        ("lab grade exercise1.ipnb", "exercise1.ipnb: no such file; did you mean 'exercise1.ipynb'?"),
        ("lab show tcp-bottleneck/window-plateau --arm setles", "did you mean 'settles'?"),
        ("lab new mine/two --template trasnfer", "did you mean 'transfer'?"),
    ],
)
def test_a_mistyped_name_gets_a_suggestion(type_here: Type, tmp_path: Path, typed: str, hint: str) -> None:
    (tmp_path / "bufferbloat.py").touch()
    (tmp_path / "exercise1.ipynb").touch()
    (tmp_path / "results").mkdir()
    done = type_here(typed)
    assert done.returncode == 2
    assert hint in done.stderr


def test_suggestions() -> None:
    assert suggestion("dsl", ["mine/dsl", "theirs/dsl"]) == "; did you mean 'mine/dsl' or 'theirs/dsl'?"
    assert suggestion("zzz", ["mine/dsl"]) == ""
    assert instead("zzz", ["a", "b", "a"]) == "; use a, b"
    assert instead("zzz", []) == ""
    assert no_file(Path("no-folder/file")) == "no-folder/file: there is no folder no-folder"


def test_verify_says_what_it_takes_and_how_to_verify_a_claim(type_here: Type) -> None:
    done = type_here("lab verify tcp-bottleneck/window-plateau")
    assert done.returncode == 2
    assert "`lab verify` takes a store or a bundle file" in done.stderr
    assert "`lab verify --only tcp-bottleneck/window-plateau`" in done.stderr
