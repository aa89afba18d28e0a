"""Help fits 80 columns, cuts no sentence, shows no Python type, and ends with an example that works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from lab.cli.app import app
from lab.cli.assembly import examples, parts
from lab.cli.helping import sections
from lab.cli.renaming import OLD_NAMES, renamed

EXAMPLES = examples()
LAB: Any = typer.main.get_command(app)


def commands(command: Any = LAB, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of all commands, groups included."""
    yield path
    for name, found in getattr(command, "commands", {}).items():
        yield from commands(found, (*path, name))


def found(path: tuple[str, ...]) -> tuple[Any, Any]:
    """(command, its context)."""
    command, context = LAB, typer.Context(LAB, info_name="lab")
    for name in path:
        command = command.commands[name]
        context = typer.Context(command, info_name=name, parent=context)
    return command, context


@cache
def help_of(path: tuple[str, ...]) -> str:
    return CliRunner().invoke(app, [*path, "--help"], terminal_width=80, env={"COLUMNS": "80"}).output


def test_help_fits_and_cuts_nothing() -> None:
    for path in commands():
        text = help_of(path)
        assert max(map(len, text.splitlines())) <= 80, path
        assert not re.search(r"(?<![A-Z\]}])\.\.\.$", text, re.MULTILINE), path
        assert not re.search(r"<(?:list|str|path|int|float)", text), path
        assert "unless named" not in text, path
        assert "unless given" not in text, path


def test_every_command_is_in_one_section() -> None:
    shown = [name for names in sections().values() for name in names]
    assert sorted(shown) == sorted(name for part in parts() for name in part.commands)
    text = help_of(())
    assert re.findall(r"^(\w+):$", text, re.MULTILINE) == ["Options", *sections()]


def test_each_example_is_taken() -> None:
    for name, example in ((name, each) for name, given in EXAMPLES.items() for each in given):
        path = tuple(name.split())
        assert example in help_of(path), name
        words = shlex.split(example.partition(" >")[0])[1:]
        assert tuple(words[: len(path)]) == path, example
        command, context = found(path)
        command.make_context(path[-1], words[len(path) :], parent=context.parent)


def test_every_command_has_an_example() -> None:
    leaves = {" ".join(path) for path in commands() if path and not hasattr(found(path)[0], "commands")}
    assert set(EXAMPLES) == leaves


@pytest.mark.parametrize(("old", "new"), [*OLD_NAMES.items()])
def test_an_old_name_works_with_a_hint(
    old: tuple[str, ...], new: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert renamed([*old, "--json"]) == [*new, "--json"]
    assert f"is now `lab {' '.join(new)}`" in capsys.readouterr().err
    assert found(new)


def test_other_names_stay(capsys: pytest.CaptureFixture[str]) -> None:
    assert renamed(["run", "plan"]) == ["run", "plan"]
    assert capsys.readouterr().err == ""


def test_the_help_of_a_group_lists_all_of_its_commands() -> None:
    for path in commands():
        listed = getattr(found(path)[0], "commands", {})
        shown = {name for name, command in listed.items() if not command.hidden}
        assert shown <= set(re.findall(r"^  (\S+)", help_of(path), re.MULTILINE)), path


def test_an_option_without_its_value_points_to_its_commands_help() -> None:
    for path in commands():
        command, context = found(path)
        options = [each for each in command.params if each.param_type_name == "option" and not each.is_flag]
        for option in [] if hasattr(command, "commands") else options:
            with pytest.raises(Exception, match="requires an argument") as raised:
                command.make_context(path[-1], [option.opts[0]], parent=context.parent)
            assert getattr(raised.value, "ctx").command_path == context.command_path  # noqa: B009
