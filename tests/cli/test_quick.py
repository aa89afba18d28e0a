"""The quick reader of `lab run` gives what Typer gives, or leaves the command line to Typer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from lab.cli import quick, running_claims
from lab.cli.assembly import assembled

USUAL = [
    [],
    ["tcp-bottleneck"],
    ["a", "b/c", "d.py", "--json"],
    ["--jobs", "2", "a", "--results", "there"],
    ["--kernel", "6.1,7.2", "a"],
    ["--seed", "5", "--repeat", "3", "--stall", "2.5", "--budget", "30"],
    ["--seeds", "1-5", "--on", "uml", "--clock", "virtual", "--userland", "host"],
    ["--shard", "3/16", "--plan", "plan.json", "--store", "s3://bucket", "--cluster", "local:2"],
    ["--build", "--trust", "--anyway", "--fabric", "mininet", "--from", "bundle.lab"],
]
OTHERS = [
    ["--help"],
    ["--jobs", "0"],
    ["--jobs", "two"],
    ["--jobs"],
    ["--jobs", "--json"],
    ["--jobs=2"],
    ["--jobs", "2", "--jobs", "3"],
    ["--no-trust"],
    ["--report", "tap=file"],
    ["--begun", "1"],
    ["--seed", "-1"],
    ["--kernel", ""],
    ["--", "a"],
    ["-x"],
    [""],
    ["--unknown", "a"],
]


def called(monkeypatch: pytest.MonkeyPatch, words: Sequence[str], *, fast: bool) -> dict[str, Any]:
    """Return the arguments that the command line gives to the command, without those that have the default value."""
    seen: list[dict[str, Any]] = []

    def note(claims: Sequence[str] | None, **given: Any) -> int:
        seen.append({"claims": list(claims or ()), **{name: value for name, value in given.items() if value}})
        return 0

    monkeypatch.setattr(running_claims, "run", note)
    if fast:
        assert quick.quickly(["run", *words]) == 0
    else:
        assembled("run")(["run", *words], standalone_mode=False)
    return seen[0]


@pytest.mark.parametrize("words", USUAL, ids=" ".join)
def test_usual_command_lines_mean_the_same(monkeypatch: pytest.MonkeyPatch, words: Sequence[str]) -> None:
    assert called(monkeypatch, words, fast=True) == called(monkeypatch, words, fast=False)


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_other_command_lines_are_left_to_typer(words: Sequence[str]) -> None:
    assert quick.parsed(words) is None


def test_other_commands_are_left_to_typer() -> None:
    assert quick.quickly(["list"]) is None
    assert quick.quickly([]) is None


def test_every_option_of_run_is_known_or_rare() -> None:
    command = assembled("run")
    import typer.main

    shown = {name for each in typer.main.get_command(command).commands["run"].params for name in each.opts}  # type: ignore[attr-defined]
    options = {name for name in shown if name.startswith("--")}
    assert options - set(quick._options()) == {"--begun", "--report"}
    assert set(quick._options()) <= options


def test_a_run_imports_no_slow_reader() -> None:
    """A start without Typer, Pydantic and a YAML parser takes half the time: see docs/measurements/scale.md."""
    look = "import sys, lab.cli.quick, lab.cli.running_claims, lab.app.runs, lab.app.running, lab.spec.find"
    slow = "{'typer', 'pydantic', 'ruamel', 'numpy', 'rich'}"
    look += f"; print(sorted({{each.partition('.')[0] for each in sys.modules}} & {slow}))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
