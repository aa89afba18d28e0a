"""A file of another tool, in place of a topology or an experiment, is refused with the command that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import InputError
from lab.spec import find
from lab.spec.errors import SpecError

SCRIPT = """\
from mininet.net import Mininet

open("it-ran", "w").close()
net = Mininet()
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(file: str, text: str) -> str:
    """The refusal of a file as a topology, and the same of `lab check`."""
    Path(file).write_text(text)
    with pytest.raises(SpecError) as error:
        find.topology(file)
    (problem,) = error.value.problems
    return str(problem)


def test_a_containerlab_file() -> None:
    text = "name: two\ntopology:\n  nodes: {a: {kind: linux}}\n"
    advice = "two.clab.yml:2: a containerlab file; run `lab import two.clab.yml -o NAME.yaml`"
    assert said("two.clab.yml", text) == advice
    assert [*map(str, find.check([Path("two.clab.yml")]))] == [advice]


def test_a_mininet_script_is_refused_before_it_runs() -> None:
    advice = "net.py:1: a Mininet script; run `lab mininet net.py`"
    assert said("net.py", SCRIPT) == f"{advice}, or take its network with `lab import net.py -o NAME.yaml`"
    with pytest.raises(SpecError) as error:
        find.find(["net.py"])
    assert str(error.value) == advice
    assert not Path("it-ran").exists()


@pytest.mark.parametrize(
    "text",
    [
        "import socket\n",
        "from mininet.topo import Topo\n\nclass Pair(Topo): ...\n",
        SCRIPT.replace("net = Mininet()", "topos = None\n\ndef main(): Mininet()"),
    ],
)
def test_other_files_have_their_own_message(text: str) -> None:
    assert "a Mininet script" not in said("net.py", text)


def test_any_other_file() -> None:
    Path("up.sh").write_text("ip netns add a\n")
    with pytest.raises(InputError, match=r"up\.sh is not a topology; name .*; `lab import` reads other tools' files"):
        find.topology("up.sh")
