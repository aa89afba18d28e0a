"""Print answers: one JSON document, or a table that fits 80 columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

Json = Annotated[bool, typer.Option("--json", help="Print the answer as one JSON document.")]


def answer(plain: Any, shown: Callable[[], RenderableType], as_json: bool) -> None:
    """Print what a command found out: `plain` as JSON, or what `shown` makes of it for a person, a text as it is."""
    if as_json:
        emit(plain)
    elif isinstance(found := shown(), str):
        print(found)  # not wrapped: a program may take a file's name from it
    else:
        show(found)


def emit(plain: Any) -> None:
    """Print `plain` as the one JSON document on standard output; a number that is not finite is null there."""
    json.dump(_finite(plain), sys.stdout, indent=1, allow_nan=False)
    print()


def _finite(plain: Any) -> Any:
    """Return the same with None for what JSON has no number for: the upper bound of a ratio to what may be zero."""
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_finite(value) for value in plain]
    return None if isinstance(plain, float) and not isfinite(plain) else plain


def show(what: RenderableType) -> None:
    """Print `what` on standard output, as wide as the terminal; 80 columns elsewhere."""
    from rich.console import Console  # a twelfth of a start, and JSON needs none of it

    Console(width=None if sys.stdout.isatty() else 80, highlight=False).print(what)


def say(text: str) -> None:
    """Print a remark for a person on standard error."""
    print(text, file=sys.stderr)
