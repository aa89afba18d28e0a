"""Show the progress of trials: bars on a terminal, one bar in a notebook, lines on standard error elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from lab.base import building, terminal
from lab.errors import LabError
from lab.guest.trial import Trial
from lab.record.record import Record
from lab.runner.schedule import Progress
from lab.spec.case import Case

if TYPE_CHECKING:
    from rich.progress import TaskID


_PASSING = {"progress": True}  # marks output that a stored notebook does not keep


def name(run: Case | Trial) -> str:
    """Return the display name of a case or trial: claim, arm, point."""
    return " ".join(part for part in (run.claim, run.arm, run.point) if part)


class Display(Progress, Protocol):
    """Shows the trials and the messages of the executors that run them."""

    def remark(self, text: str) -> None:
        """Show a sentence about the run, such as the loss of a worker."""

    def status(self, text: str) -> None:
        """Show the state of the run (workers, time left) in place of the previous state."""

    def beside(self) -> AbstractContextManager[building.Progress]:
        """Yield a display for a build that runs alongside the trials, within this context."""


class ProgressLines:
    """Writes one line for each trial that ends."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total, self._done, self._stream, self._status = total, 0, stream, ""

    def started(self, trial: Trial) -> None:
        """Write nothing, because a log needs only results."""

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Write `[3/14] claim arm point: 4.1 s`."""
        self._done += 1
        self.remark(f"[{self._done}/{self._total}{self._status}] {name(trial)}: {_said(outcome, stored)}")

    def remark(self, text: str) -> None:
        """Write the text in one piece, because a build may also write."""
        terminal.write(text, self._stream)
        self._stream.flush()

    def status(self, text: str) -> None:
        """Write the text in front of the next trials."""
        self._status = f"; {text}"

    @contextmanager
    def beside(self) -> Iterator[building.Progress]:
        """Yield a display that writes separate lines."""
        yield building.Lines(self._stream)


class Bars:
    """Shows a bar for all trials and a spinner for each running trial."""

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn())
        self._bars = Progress(*columns, TimeElapsedColumn(), console=terminal.console(stderr=True), transient=True)
        self._all = self._bars.add_task("trials", total=total)
        self._running: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def started(self, trial: Trial) -> None:
        """Show the trial's spinner."""
        self._running[trial.address] = self._bars.add_task(name(trial), total=1)

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Remove the trial's spinner. Write a line if the trial failed."""
        if trial.address in self._running:
            self._bars.remove_task(self._running.pop(trial.address))
        if isinstance(outcome, LabError):
            self.remark(f"{name(trial)}: {_said(outcome, stored)}")
        self._bars.advance(self._all)

    def remark(self, text: str) -> None:
        """Write the text above the bars."""
        self._bars.console.print(text, markup=False)

    def status(self, text: str) -> None:
        """Show the text in front of the bar for all trials."""
        self._bars.update(self._all, description=f"trials: {text}")

    @contextmanager
    def beside(self) -> Iterator[building.Progress]:
        """Yield a display with a separate bar."""
        bar = building.Bar(self._bars)
        try:
            yield bar
        finally:
            self._bars.remove_task(bar.task)


class Cell:
    """Shows a bar in the output of a notebook cell, with remarks below it."""

    def __init__(self, total: int) -> None:
        from IPython.display import HTML, display

        self._total, self._done, self._status = total, 0, ""
        self._remarks: list[str] = []
        self._html: Callable[[str], object] = HTML
        self._handle: Any = display(HTML(self._page()), display_id=True, metadata=_PASSING)

    def started(self, trial: Trial) -> None:
        """Show nothing, because the bar moves only when a trial ends."""

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Move the bar. Add a line if the trial failed."""
        self._done += 1
        if isinstance(outcome, LabError):
            self._remarks.append(f"{name(trial)}: {_said(outcome, stored)}")
        self._update()

    def remark(self, text: str) -> None:
        """Add a line."""
        self._remarks.append(text)
        self._update()

    def status(self, text: str) -> None:
        """Show the text next to the bar."""
        self._status = text
        self._update()

    @contextmanager
    def beside(self) -> Iterator[building.Progress]:
        """Yield a display that shows the build's stage next to the bar."""
        yield _Stage(self)
        self.status("")

    def _update(self) -> None:
        self._handle.update(self._html(self._page()), metadata=_PASSING)

    def _page(self) -> str:
        bar = f'<progress max="{self._total}" value="{self._done}"></progress> {self._done}/{self._total} trials'
        lines = [f"{bar} {escape(self._status)}", *map(_linked, self._remarks)]
        return "<br>".join(lines)


class _Stage:
    """Shows the progress of a build as the status of a notebook cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell, self._stage, self._percent = cell, "", 0

    def say(self, message: str) -> None:
        self._stage, self._percent = message, 0
        self._cell.status(message)

    def step(self, done: int, total: int) -> None:
        if 100 * done // total > self._percent:
            self._percent = 100 * done // total
            self._cell.status(f"{self._stage}: {self._percent} %")

    def remark(self, text: str) -> None:
        self._cell.remark(text)


@contextmanager
def shown(total: int) -> Iterator[Display]:
    """Yield a display for `total` trials that fits the terminal, the notebook or standard error."""
    if _in_notebook():
        yield Cell(total)
    elif sys.stderr.isatty():
        with Bars(total) as bars:
            yield bars
    else:
        yield ProgressLines(total, sys.stderr)


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this code. IPython in a terminal has no Jupyter kernel."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


def _linked(text: str) -> str:
    """Return the text as HTML, with its web addresses as links."""
    return re.sub(r"https?://[^\s,]+", r'<a href="\g<0>">\g<0></a>', escape(text))


def _said(outcome: Record | LabError, stored: bool) -> str:
    if isinstance(outcome, LabError):
        return f"failed: {outcome}"
    if stored:
        return "in the store"
    return "the same run" if outcome.run_of else f"{outcome.host.get('wall_seconds', 0):.1f} s"
