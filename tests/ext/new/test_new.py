"""`lab new`: what it makes, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from lab.ext.new.templates import TEMPLATES
from tests.kinds import Type


def test_the_answer_is_the_contract(type_here: Type, tmp_path: Path) -> None:
    answer = json.loads(type_here("lab new my-own/first.claim --json").stdout)
    assert answer["claim"] == "my-own/first.claim"
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(answer["files"])
    compile((tmp_path / "tests/experiments/test_my_own_first_claim.py").read_text(), "test", "exec")


def test_an_editor_finds_the_schema_of_the_topology(type_here: Type, tmp_path: Path) -> None:
    type_here("lab new mine/one")
    topology = tmp_path / "topologies" / "one.yaml"
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", topology.read_text())
    assert named
    schema = json.loads((topology.parent / named[1]).read_text())
    assert schema == json.loads(type_here("lab schema").stdout)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", schema["$id"])
    jsonschema.Draft202012Validator(schema).validate(YAML(typ="safe").load(topology))


def test_another_claim_of_the_article_keeps_what_is_there(type_here: Type, tmp_path: Path) -> None:
    type_here("lab new mine/one")
    about = tmp_path / "experiments" / "mine" / "article.yaml"
    about.write_text("title: My own\nauthor: me\ndate: today\nurl: unknown\n")
    assert type_here("lab new mine/two").returncode == 0
    assert "My own" in about.read_text()
    assert "Save some bandwidth" in _about(type_here, tmp_path, "tcp-timestamps/mine"), "as the project knows it"


def _about(type_here: Type, folder: Path, name: str) -> str:
    assert type_here(f"lab new {name}").returncode == 0
    return (folder / "experiments" / name.split("/")[0] / "article.yaml").read_text()


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_a_template_makes_has_no_mistake(type_here: Type, template: str) -> None:
    assert type_here(f"lab new mine/one --template {template}").returncode == 0
    checked = type_here("lab check topologies/one.yaml experiments/mine/one.py")
    assert (checked.returncode, checked.stderr) == (0, "no mistakes found\n")


@pytest.mark.guest
@pytest.mark.parametrize("template", ["program", "queue", "change"])
def test_a_template_runs_as_it_is(type_in: Type, template: str) -> None:
    type_in(f"lab new mine/one --template {template}")
    ran = type_in("lab run mine/one")
    assert ran.returncode == 0, ran.stderr
    assert "mine/one  reproduced" in ran.stdout


def test_a_template_that_there_is_not_is_refused(type_here: Type, tmp_path: Path) -> None:
    done = type_here("lab new mine/one --template poem")
    assert (done.returncode, done.stderr) == (
        2,
        "lab: --template poem is unknown; use transfer, flows, program, queue, change, study\n",
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["one", "a/b/c", "/one", "mine/", "../mine/one", "mine/.one", "mine/o ne"])
def test_a_name_is_article_and_claim(type_here: Type, tmp_path: Path, name: str) -> None:
    done = type_here(f"lab new {name}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(type_here: Type, tmp_path: Path) -> None:
    type_here("lab new mine/one")
    mine = tmp_path / "experiments" / "mine" / "one.py"
    mine.write_text("mine")
    done = type_here("lab new mine/one")
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ["lab: experiments/mine/one.py already exists; choose a different name, or change that file"],
    )
    assert mine.read_text() == "mine"
    assert "no-drops.py already exists" in type_here("lab new tcp-bottleneck/no-drops").stderr


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mine/My Claim", "mine/my-claim"),
        ("My Claim", "mine/my-claim"),
        ("a/b/c", "a/b-c"),
        ("-x/.y", "x/y"),
        ("long/" + "x" * 100, "long/" + "x" * 64),
    ],
)
def test_a_wrong_name_gets_one_that_fits(type_here: Type, name: str, meant: str) -> None:
    done = type_here(f"lab new -- '{name}'")
    assert done.returncode == 2
    assert f"write ARTICLE/CLAIM, such as '{meant}', each of up to 64 letters, digits" in done.stderr
    assert type_here(f"lab new {meant}").returncode == 0
