"""Every command answers a name that does not exist with one line, and never with an answer.

The commands and what they take are read from the command line itself: a new one has to be in these tables.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
import typer

from lab import cli
from lab.cli.app import app
from tests.report.conftest import here, keep, toy, toys

__all__ = ["here", "keep", "toy", "toys"]  # fixtures

pytestmark = pytest.mark.guest  # it takes a kernel, though none boots

# What each command is given besides the name that is tried.
NEEDS: dict[str, dict[str, str]] = {
    "atlas": {"folder": "out"},
    "bisect": {"claim": "toy/header", "tree": "tree", "good": "HEAD", "bad": "HEAD"},
    "bundle": {"out": "out"},
    "cc": {"control": "cubic"},
    "ci init": {"system": "github", "lab": "owner/name@main"},
    "cluster merge": {"stores": "results"},
    "cluster plan": {"claims": "toy/header"},
    "cluster push": {"target": "out"},
    "compare": {"base": "results", "new": "results"},
    "cost": {"claims": "toy/header"},
    "grade": {"submissions": "handed-in.ipynb"},
    "explain": {"capture": "one.pcap"},
    "export": {"names": "toy/header", "qlog": ""},
    "graph": {"topology": "symmetric-1g"},
    "import": {"files": "rates.txt", "out": "out.yaml"},
    "kernel baseline": {"name": "spring"},
    "kernel fetch": {"name": "./file"},
    "mixed": {"topology": "symmetric-1g", "commands": "sender: true"},
    "mininet": {"script": "net.py"},
    "mn": {"topology": "symmetric-1g", "command": "nodes"},
    "new": {"name": "mine/first"},
    "packetdrill run": {"wanted": "one.pkt"},
    "regress": {"kernel": "7.2", "baseline": "spring"},
    "run": {"claims": "toy/header"},
    "shell": {"topology": "symmetric-1g", "command": "true"},
    "show": {"claim": "toy/header"},
    "store export": {"claim": "toy/header", "out": "out.parquet"},
    "store gc": {"claims": "toy/header"},
    "watch": {"claim": "toy/header"},
}
# What does not exist, for each argument and option by its name in the code. A list has what a command needs beside it.
WRONG = {
    "against": "nope",
    "arm": "nope",
    "articles": "nope",
    "axe": "nosuch.js",
    "bad": "nope",
    "balance": "nosuch.json",
    "base": "nosuch",
    "baseline": "nope",
    "bundle": "nosuch.tar.zst",
    "capture": "nosuch.pcap",
    "case": "nope",
    "claim": "toy/nope",
    "claims": "toy/nope",
    "clock": "nope",
    "cluster": "nope",
    "config": "nosuch.config",
    "control": "nope",
    "controller": "nope",
    "custom": "nosuch.py",
    "fabric": "nope",
    "gains": "nope",
    "given": "nope",
    "file": "nosuch.c",
    "files": "nosuch.yaml",
    "flow": "0",
    "good": "nope",
    "host": "nope",
    "ipbase": "nope",
    "jobs": "-1",
    "kernel": "9.9",
    "kernels": "sender=9.9",
    "keep": "0",
    "keyring": "nosuch.gpg",
    "link": "nope",
    "memory": "nope",
    "modules": "nosuch",
    "name": "nope",
    "names": "nope",
    "new": "nosuch",
    "on": "nope",
    "only": "nope",
    "origin": "Nope",
    "patch": "nosuch.patch",
    "point": "nope",
    "post": "nosuch.mn",
    "pre": "nosuch.mn",
    "rate_unit": "nope",
    "repeat": "0",
    "report": "nope=file",
    "results": "file",
    "sample": "nope",
    "script": "nope",
    "seed": "-1",
    "seeds": "nope",
    "shard": "nope",
    "shown": "nosuch",
    "source": "nosuch.tar",
    "store": "nosuch",
    "stores": "nosuch",
    "submissions": "nosuch.ipynb",
    "switch": "nope",
    "system": "nope",
    "template": "nope",
    "test": "nope",
    "time_unit": "nope",
    "topo": "nope",
    "topology": "nope",
    "tree": "nosuch",
    "userland": "nope",
    "verbosity": "nope",
    "wanted": "nope",
    "what": "nope",
    "words": "nope",
}
BESIDE = {"balance": ["--shard", "1/2"], "config": ["7.2-mine"], "patch": ["7.2-mine"]}
MACHINES = {"packetdrill run", "mixed"}  # commands that look first for a program which may be missing
# What names nothing that has to be there: where something is written, words, and numbers.
FREE = {"begun", "budget", "command", "commands", "folder", "hz", "interest", "junit", "lab", "lasts", "older_than"}
FREE |= {"out", "page", "stall", "table", "target", "tolerance"}
ANYTHING = {
    ("kernel baseline", "name"): "it is a new name",
    ("bundle", "report"): "a folder of pages",
    ("cost", "function"): "trials show first which functions there are",
    ("doctor", "results"): "it reports what does not work",
    ("explain", "rebuild"): "it is written",
    ("export", "wireshark"): "it is written",
    ("graph", "out"): "it is written",
    ("mininet", "arguments"): "they are the script's",
    ("new", "name"): "it is a new name",
    ("regress", "cluster"): "it says first that there is no such baseline; `run` shows what it says of the cluster",
    ("regress", "store"): "as for the cluster",
    ("kernel fetch", "name"): "a distribution has it or has not",
}


@cache
def commands() -> dict[str, Any]:
    """Every command by its name, subcommands too."""

    def below(command: Any, name: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for part, each in getattr(command, "commands", {}).items():
            yield from below(each, (*name, part))
        if not hasattr(command, "commands"):
            yield " ".join(name), command

    return dict(below(typer.main.get_command(app), ()))


def named() -> dict[str, list[str]]:
    """Each command's arguments and options that take a name."""
    found: dict[str, list[str]] = {}
    for command, declared in commands().items():
        for parameter in declared.params:
            takes = not getattr(parameter, "is_flag", False)
            if takes and parameter.name not in FREE and (command, parameter.name) not in ANYTHING:
                found.setdefault(command, []).append(parameter.name)
    return found


def argv(command: str, wrong: str) -> list[str]:
    """A command line with what the command needs, and a wrong name."""
    given = {**NEEDS.get(command, {}), wrong: WRONG[wrong]}
    words = command.split()
    options_first = sorted(commands()[command].params, key=lambda each: each.param_type_name != "option")
    for parameter in options_first:  # what follows a script is its own
        if parameter.name in given:
            option = [parameter.opts[0]] if parameter.param_type_name == "option" else []
            words += [*option, *([given[parameter.name]] if given[parameter.name] else [])]  # a flag has no value
    return words + BESIDE.get(wrong, [])


@pytest.fixture
def typed(
    toy: Callable[..., object],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str]]:
    """Types a command where there are an article, its records and a file; returns its exit code and standard error."""
    toy()
    (here / "file").write_text("no store\n")
    (here / "one.pkt").write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    (here / "net.py").write_text("")
    (here / "rates.txt").write_text("0 12\n1 3\n")
    nbformat.write(nbformat.v4.new_notebook(), here / "handed-in.ipynb")
    (here / "tree").mkdir()
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-mx"],
    ):
        subprocess.run(["git", *words], cwd=here / "tree", check=True)

    def type_(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["lab", *words])
        capsys.readouterr()
        try:
            cli.main()
        except SystemExit as ended:
            return int(ended.code or 0), capsys.readouterr().err
        return 0, capsys.readouterr().err

    return type_


@pytest.mark.needs("git")
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("command", named())
def test_a_name_that_does_not_exist_is_one_line(typed: Callable[..., tuple[int, str]], command: str) -> None:
    for wrong in named()[command]:
        words = argv(command, wrong)
        code, said = typed(*words)
        missing = (wrong in ("kernel", "kernels", "base", "script") and command != "compare") or command in MACHINES
        assert code in ((2, 3) if missing else (2,)), (words, said)
        (line,) = (each for each in said.splitlines() if not each.startswith(("unpacking ", "reading ")))
        assert line.startswith("lab: ") or ":1: " in line, "or a file with its line"
        name = WRONG[wrong].split("=")[-1]
        assert name in line or f"--{wrong}" in line or "packetdrill is not here" in line, line


def test_every_table_entry_is_of_the_command_line() -> None:
    """A name in these tables that no command takes would be tried by nothing."""
    taken = {parameter.name for command in commands().values() for parameter in command.params}
    assert {*WRONG, *FREE} - taken == set()
    assert {*NEEDS, *MACHINES, *(command for command, _ in ANYTHING)} - {*commands()} == set()
