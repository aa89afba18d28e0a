"""Give commands the option --json, and print their results and the mistakes that the results leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lab.cli.printing import answer, emit, say, show
from lab.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lab.spec.errors import Problem

__all__ = ["Json", "answer", "answer_beside", "emit", "say", "show"]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]


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
