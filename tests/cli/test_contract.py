"""docs/command-line.md lists every command of the command line, and no command or option that does not exist."""

import re
from pathlib import Path

from tests.cli.test_names import commands

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
NAME = re.compile(r"`lab ((?:[a-z]+ ?)+)")
OPTION = re.compile(r"`(--?[a-z][a-z-]*)")
SHARED = {"--help", "--json", "--results"}


def rows() -> dict[str, str]:
    """Return what the page says of each command, by the command's name."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `lab "):
            _, name, text, *_ = re.split(r" ?(?<!\\)\| ?", line)
            for each in NAME.findall(name):
                found[each.strip()] = text
    return found


def test_the_page_lists_every_command_and_no_other() -> None:
    visible = {name for name, command in commands().items() if not command.hidden}
    assert {*rows()} == visible


def options(name: str) -> set[str]:
    return {option for each in commands()[name].params for option in (*each.opts, *each.secondary_opts)}


def test_each_option_on_the_page_exists() -> None:
    """A row may also explain itself with an option of `lab run`."""
    of_run = options("run")
    for name, text in rows().items():
        assert {*OPTION.findall(text)} <= options(name) | of_run, name


def test_the_page_has_every_form_of_export() -> None:
    """Each form is an option, which a reader would not look for without its name."""
    forms = {option for option in options("export") if option.startswith("--")} - SHARED
    assert {*OPTION.findall(rows()["export"])} >= forms - {"--output"}
