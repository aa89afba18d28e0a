"""Show how a trial goes on while it runs: lines, or on a terminal a curve of each figure."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from lab.report.html import figure
from lab.units import Value

if TYPE_CHECKING:
    from lab.usecases.watching import Glimpse

__all__ = ["shown"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 48  # of a curve: with its name and its figure it fits 80


class Screen(Protocol):
    """Shows one glimpse after the other."""

    def show(self, glimpse: Glimpse) -> None:
        """Show the next glimpse."""


def _figures(glimpse: Glimpse) -> dict[str, tuple[float | None, str]]:
    """Return name -> (number, text) of what a glimpse says."""
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
        print(f"{glimpse.seconds:8.2f} s  {said}", file=sys.stderr, flush=True)


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
    """Draw numbers as a row of blocks, the highest as a full one."""
    top = max(numbers) or 1.0
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * number / top)] for number in numbers)


@contextmanager
def shown() -> Iterator[Screen]:
    """Yield what fits standard error: curves that move on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=8) as live:
        yield _Curves(live)
