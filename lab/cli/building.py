"""How a kernel's build is shown: a bar on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lab.kernel import Progress

LINE_EVERY = 200  # objects, where there is no terminal to redraw


class Lines:
    """A line for each stage, and one now and then while it compiles."""

    def say(self, message: str) -> None:
        """A new stage begins."""
        print(message, file=sys.stderr, flush=True)

    def step(self, done: int, total: int) -> None:
        """`done` of about `total` objects are compiled."""
        if done % LINE_EVERY == 0:
            print(f"  compiled {done} of about {total}", file=sys.stderr, flush=True)


@contextmanager
def shown() -> Iterator[Progress]:
    """The display that fits standard error."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("kernel", total=None)

        class Bar:
            """The bar's description is the stage, its length the objects."""

            def say(self, message: str) -> None:
                bars.update(task, description=message)

            def step(self, done: int, total: int) -> None:
                bars.update(task, completed=done, total=max(done, total))

        yield Bar()
