"""Print results as one JSON document, or as a table of 80 columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lab.base import terminal
from lab.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lab.spec.errors import Problem

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]


def answer(plain: Any, shown: Callable[[], RenderableType], as_json: bool) -> None:
    """Print a command's result: `plain` as JSON, or the result of `shown` for a person. Text is printed as is."""
    if as_json:
        emit(plain)
    elif isinstance(found := shown(), str):
        terminal.write(found)  # not wrapped, because a program may read a file's name from it
    else:
        show(found)


def answer_beside(
    plain: dict[str, Any], shown: Callable[[], RenderableType], problems: Sequence[Problem], as_json: bool
) -> None:
    """Print a command's result, and then the mistakes in the files that the result leaves out.

    In JSON, the mistakes are `errors` of the result. With a mistake, the command ends with exit code 2.
    """
    answer({**plain, "errors": [each.plain() for each in problems]} if problems else plain, shown, as_json)
    if problems:
        for each in problems if not as_json else ():
            say(f"lab: {each}")
        raise typer.Exit(InputError.exit_code)


def emit(plain: Any) -> None:
    """Print `plain` as the only JSON document on standard output. Infinite and undefined numbers become null."""
    json.dump(_finite(plain), sys.stdout, indent=1, allow_nan=False)
    print()


def _finite(plain: Any) -> Any:
    """Return `plain` with None for infinite numbers, such as a bound of a ratio to zero, because JSON has no
    infinity.
    """
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_finite(value) for value in plain]
    return None if isinstance(plain, float) and not isfinite(plain) else plain


def show(what: RenderableType) -> None:
    """Print `what` on standard output, as wide as the terminal, or in 80 columns if there is no terminal."""
    terminal.console(width=None if sys.stdout.isatty() else 80, highlight=False).print(what)


def say(text: str) -> None:
    """Print a remark for a person on standard error."""
    terminal.write(text, sys.stderr)
