"""A command line that has one command has it as the whole one does."""

from __future__ import annotations

import typer
from typer.testing import CliRunner

from lab.cli.app import app
from lab.cli.assembly import assembled, parts


def test_every_command_is_named_and_in_order() -> None:
    whole = typer.main.get_command(app)
    context = typer.Context(whole, info_name="lab")
    assert sorted(whole.list_commands(context)) == sorted(name for part in parts() for name in part.commands)  # type: ignore[attr-defined]


def test_one_command_is_as_in_the_whole() -> None:
    for name in (name for part in parts() for name in part.commands):
        argv = [name, "--help"]
        assert CliRunner().invoke(assembled(name), argv).output == CliRunner().invoke(app, argv).output, name


def test_an_unknown_command_is_told_what_there_is() -> None:
    argv = ["rnu"]
    assert CliRunner().invoke(assembled("rnu"), argv).output == CliRunner().invoke(app, argv).output
