"""Every command of the guides is typed by a test, or parsed here, by name and with a reason."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main

from lab.cli.app import app
from lab.spec import find, topology
from tests.docs.blocks import PAGES, ROOT, blocks, commands, spans, tutorial
from tests.docs.register import PARSED, SESSIONS, TUTORIALS, TYPED

LAB: Any = typer.main.get_command(app)
COMMANDS = commands()
# Tutorials make the files that they name.
TUTORED = {command for page, part in TUTORIALS for block in tutorial(page, part) for command, _ in block.steps()}


def test_every_command_is_typed_or_has_a_reason() -> None:
    typed = {*TYPED, *SESSIONS, *TUTORED}
    assert COMMANDS.keys() - typed - PARSED.keys() == set(), "add these to tests/docs/register.py"
    assert (typed | PARSED.keys()) - COMMANDS.keys() == set(), "no page has these any more"
    assert typed & PARSED.keys() == set()


def test_commands_stand_between_fences() -> None:
    indented = [(path.name, line) for path in PAGES for line in path.read_text().splitlines() if _is_indented(line)]
    assert indented == []


def _is_indented(line: str) -> bool:
    return re.match(r" {4}(\$|lab|make|sudo|vagrant|dask|python3?) ", line) is not None


def words(command: str) -> list[str]:
    """What the program gets: without what is the shell's."""
    found = shlex.split(command)
    return found[: found.index(">")] if ">" in found else found


def of_lab(arguments: list[str]) -> tuple[Any, Any, list[str]]:
    """(command, its context, the rest) of what follows `lab`."""
    command = LAB
    context = typer.Context(command, info_name="lab")
    while hasattr(command, "list_commands") and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
        context = typer.Context(command, info_name=name, parent=context)
    return command, context, arguments


def test_the_command_line_takes_each() -> None:
    refused = {}
    for command in (each for each in COMMANDS if each.startswith("lab ")):
        try:
            taking, context, rest = of_lab(words(command)[1:])
            taking.make_context(context.info_name, rest, parent=context.parent)
        except Exception as error:  # noqa: BLE001  # the next command is tried, too
            refused[command] = str(error)
    assert refused == {}


def test_a_wrong_command_is_not_taken() -> None:
    taking, context, rest = of_lab(["run", "--sed", "2"])
    with pytest.raises(Exception, match="--sed"):
        taking.make_context(context.info_name, rest, parent=context.parent)


def test_commands_within_sentences_are_there_with_their_options() -> None:
    """Arguments are often left out, or said in capitals."""
    unknown = {}
    for span in (each for each in spans() if each.startswith("lab ")):
        command, context, rest = of_lab(re.split(r"[ ;|]+", span.partition("&&")[0].strip())[1:])
        taken = [name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)]
        unknown[span] = {word for word in rest if re.match(r"--?[a-z]", word)}.difference(taken)
    assert {span: options for span, options in unknown.items() if options} == {}
    assert unknown


def test_make_has_such_targets() -> None:
    typed = [words(each)[1:] for each in (*COMMANDS, *spans()) if each.startswith("make ")]
    targets = {word for each in typed for word in each if "=" not in word}
    assert len(targets) > 20
    planned = subprocess.run(["make", "-nk", *targets], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert planned.returncode == 0, planned.stderr


def test_claims_and_files_that_are_named_exist() -> None:
    known = set(find.experiments())
    articles = {claim.partition("/")[0] for claim in known}
    shipped = [command for command in COMMANDS if command not in TUTORED]
    named = {word for command in shipped for word in words(command) if re.fullmatch(r"[\w.-]+(/[\w.-]+)+", word)}
    claims = {word for word in named if word.partition("/")[0] in articles}
    files = {word for word in named if (ROOT / word.partition("/")[0]).is_dir()}
    assert claims
    assert claims <= known
    assert files == {word for word in files if (ROOT / word).is_file()} != set()


def test_topologies_that_are_shown_whole_have_no_mistake(tmp_path: Path) -> None:
    shown = [block.text for block in blocks() if block.language == "yaml" and "\nhosts:" in block.text]
    assert len(shown) >= 3
    for number, text in enumerate(shown):
        file = tmp_path / f"shown-{number}.yaml"
        file.write_text(text)
        topology.load(file)
