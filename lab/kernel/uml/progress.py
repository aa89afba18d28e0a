"""Show how a build goes on: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from lab.kernel.uml.builder import Progress

__all__ = ["shown"]


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Progress]:
    """Yield a progress for `build` that writes to `stream`, standard error by default."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield _Lines(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield _Bar(bars)


class _Lines:
    """Write a line per stage, and one per tenth of the objects."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.tenths = 0

    def say(self, message: str) -> None:
        self.stream.write(f"{message}\n")
        self.stream.flush()

    def step(self, done: int, total: int) -> None:
        if 10 * done // total > self.tenths:
            self.tenths = 10 * done // total
            self.say(f"compiled {10 * self.tenths} %")


class _Bar:
    """Show the stages as lines that stay, and the objects as a bar."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.task = bars.add_task("kernel", total=None)

    def say(self, message: str) -> None:
        self.bars.update(self.task, description=message)

    def step(self, done: int, total: int) -> None:
        self.bars.update(self.task, completed=done, total=total)
