"""Format help for 80 columns: commands in sections, whole sentences, and no Python types next to arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

from lab.app.extension import extensions

_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Start": ("list",),
    "Claims": ("check", "run", "report"),
    "Networks": (),
    "Kernels": ("kernel",),
    "Share": (),
    "Advanced": ("userland", "schema"),
}
_TYPE = re.compile(r" <[^>]*>$")


class HelpfulCommand(TyperCommand):
    """Lists arguments and options as a user types them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Each error has the command's context, even that of an option without its value."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the list of arguments and the list of options."""
        parameters = self.get_params(ctx)
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            _write(formatter, title, (_row(each, ctx) for each in parameters if each.param_type_name == kind))


class HelpfulGroup(TyperGroup):
    """Lists commands with their whole first sentence, and the lab's own commands in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, then the commands."""
        _write(formatter, "Options", (_row(each, ctx) for each in self.get_params(ctx)))
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands that are not hidden."""
        commands = ((name, self.commands[name]) for name in self.list_commands(ctx))
        shown = {name: _sentence(found.help) for name, found in commands if not found.hidden}
        found = sections() if ctx.parent is None else {"Commands": tuple(shown)}
        width = max(map(len, shown), default=0)
        for title, names in found.items():
            _write(formatter, title, ((name.ljust(width), shown[name]) for name in names if name in shown))


def sections() -> Mapping[str, tuple[str, ...]]:
    """Return the sections of the lab's help with their commands: first the core's, then the extensions'."""
    others = [(each.section, name) for _, each in extensions() for name in each.commands]
    return {title: (*own, *(name for of, name in others if of == title)) for title, own in _SECTIONS.items()}


def example(*commands: str) -> str:
    """Return the examples at the end of a command's help."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {each}" for each in commands)])


def _write(formatter: Any, title: str, rows: Iterable[tuple[str, str] | None]) -> None:
    if found := [row for row in rows if row]:
        with formatter.section(title):
            formatter.write_dl(found)


def _row(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    record = parameter.get_help_record(ctx)
    if record is None:
        return None
    name, text = record
    value = "" if parameter.metavar or parameter.param_type_name == "argument" else f" {_value(parameter)}"
    return _TYPE.sub(value, name), text


def _value(parameter: Any) -> str:
    return str(max(parameter.opts, key=len)).lstrip("-").upper()


def _sentence(text: str | None) -> str:
    first = (text or "").partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.:]) ", first)[0].rstrip(".:")
