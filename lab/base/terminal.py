"""Print to a terminal or a substitute, after removing control characters from foreign text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from lab.base.foreign import printable

if TYPE_CHECKING:
    from rich.console import Console


def write(text: object, stream: TextIO | None = None) -> None:
    """Print a text and a newline to `stream` (default: standard output), in one piece."""
    (stream or sys.stdout).write(f"{printable(str(text))}\n")


def console(**options: Any) -> Console:
    """Return a rich console with these options.

    The console removes control characters from foreign text before printing.
    """
    from collections.abc import Iterable  # this takes a twelfth of a start, and JSON does not need it

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Cleaned(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for each in super().render(renderable, options):
                yield each if each.control else Segment(printable(each.text), each.style)

    return Cleaned(**options)
