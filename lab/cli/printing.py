"""Print results as one JSON document, or as a table of 80 columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

from lab.base import terminal

if TYPE_CHECKING:
    from rich.console import RenderableType


def answer(plain: Any, shown: Callable[[], RenderableType], as_json: bool) -> None:
    """Print a command's result: `plain` as JSON, or the result of `shown` for a person. Text is printed as is."""
    if as_json:
        emit(plain)
    elif isinstance(found := shown(), str):
        terminal.write(found)  # not wrapped, because a program may read a file's name from it
    else:
        show(found)


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
