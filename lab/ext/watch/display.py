"""Show the progress of a trial while the trial runs, as lines or, on a terminal, as a curve for each figure."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from lab.base import terminal
from lab.report.wording import figure
from lab.units import Value

if TYPE_CHECKING:
    from lab.ext.watch.watching import Glimpse

_BLOCKS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 48  # of a curve, so that it fits 80 columns with its name and figure


class _Screen(Protocol):
    """Shows one glimpse after another."""

    def show(self, glimpse: Glimpse) -> None:
        """Show the next glimpse."""


def _figures(glimpse: Glimpse) -> dict[str, tuple[float | None, str]]:
    """Return (number, text) of each figure in a glimpse, by name."""
    window = None if glimpse.window is None else Value(glimpse.window, "B")
    queue = None if glimpse.queue is None else Value(glimpse.queue, "s")
    return {
        "cwnd" if glimpse.is_cwnd else "in flight": (glimpse.window, figure(window)),
        "queue": (glimpse.queue, figure(queue)),
        "goodput": (glimpse.goodput, figure(Value(glimpse.goodput, "bit/s"))),
    }


class _Lines:
    def show(self, glimpse: Glimpse) -> None:
        said = "  ".join(f"{name} {text}" for name, (_, text) in _figures(glimpse).items())
        terminal.write(f"{glimpse.seconds:8.2f} s  {said}", sys.stderr)


class _Curves:
    def __init__(self, live: Any) -> None:
        self._live = live
        self._seen: deque[Glimpse] = deque(maxlen=_COLUMNS)

    def show(self, glimpse: Glimpse) -> None:
        from rich.text import Text

        self._seen.append(glimpse)
        rows = [f"{glimpse.seconds:.1f} s of the trial's own time"]
        for name, (_, text) in _figures(glimpse).items():
            numbers = [_figures(each)[name][0] or 0.0 for each in self._seen]
            rows.append(f"{name:>9}  {_curve(numbers):<{_COLUMNS}}  {text}")
        self._live.update(Text("\n".join(rows)))


def _curve(numbers: list[float]) -> str:
    """Return numbers as a row of blocks. The highest number is a full block."""
    top = max(numbers) or 1.0
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * number / top)] for number in numbers)


@contextmanager
def shown() -> Iterator[_Screen]:
    """Yield the screen for standard error: moving curves on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.live import Live

    with Live(console=terminal.console(stderr=True), refresh_per_second=8) as live:
        yield _Curves(live)
