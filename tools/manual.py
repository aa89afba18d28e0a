"""Write the manual page, lab(1), from the present commands: `make man` runs `python -m tools.manual`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import typer.main

from lab.cli.app import app

__all__ = ["page"]

_EXIT = """\
.SH EXIT STATUS
.TP
0
Success: all results are as the experiments expect.
.TP
1
A verdict is not the expected one, a trial failed, or bytes differ.
.TP
2
The input or the usage is wrong.
.TP
3
This machine cannot run the command, because something is missing or full.
.TP
130
The command was interrupted. Finished trials stay in the store.
.SH FILES
.TP
.I results/
The store: a folder of records in the current directory.
.TP
.I experiments/, topologies/, notebooks/
Files in these folders of the current directory take precedence over installed ones.
.TP
.I $XDG_CACHE_HOME/replab
Kernels and downloads. If the variable is not set, they are in
.IR ~/.cache/replab .
"""


def page() -> str:
    """Return the page, for `man`."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="lab")
    lines = [
        f'.TH LAB 1 "" "replab {version("replab")}" "User Commands"',
        ".SH NAME",
        "lab \\- run network experiments whose results anyone can reproduce to the byte",
        ".SH SYNOPSIS",
        ".B lab",
        ".I COMMAND",
        "[\\fIOPTION\\fR ...] [\\fIARGUMENT\\fR ...]",
        ".SH DESCRIPTION",
        _text(root.help or ""),
        "Options of",
        ".B lab",
        "itself:",
        *_parameters(root, context),
        ".SH COMMANDS",
    ]
    for command, at in _commands(root, context):
        usage = " ".join(command.collect_usage_pieces(at))
        lines += [f".SS {_text(at.command_path)} {_text(usage)}", _text(command.help or ""), *_parameters(command, at)]
    return "\n".join(lines) + "\n" + _EXIT


def _commands(group: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every command that does something, with its context, in the order of the help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        at = typer.Context(command, info_name=name, parent=context)
        if hasattr(command, "list_commands"):
            yield from _commands(command, at)
        else:
            yield command, at


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.get_params(context):
        said = parameter.get_help_record(context)
        if said and parameter.name != "help":
            yield from (".TP", f".B {_text(_usage(parameter))}", _text(said[1]) or "\\&")


def _usage(parameter: Any) -> str:
    """Say what one types: `-o, --output DIR`."""
    value = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return str(value)
    names = ", ".join(sorted(parameter.opts, key=len))
    return names if parameter.is_flag else f"{names} {value}"


def _text(text: str) -> str:
    """Escape what troff would take for its own: backslashes, hyphens, a dot or a quote that begins a line."""
    whole = inspect.cleandoc(text).replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line or ".PP" for line in whole.split("\n"))


if __name__ == "__main__":
    sys.stdout.write(page())
