"""Print the duration of a command, for example since the start of `make report`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Clocked:
    """Records when the first and the last of several events happened."""

    begun: float  # seconds since 1970
    times: list[float] = field(default_factory=list)

    def note(self, _: object) -> None:
        """Record an event now."""
        self.times.append(time.time())

    def said(self, what: str) -> str:
        """Return a sentence with both times. Call this method after at least one event."""
        first, last = since(self.begun, self.times[0]), since(self.begun, self.times[-1])
        return f"first {what} after {first}, last one after {last}"


def since(begun: float, now: float | None = None) -> str:
    """Return the time since `begun` in words, like "5 min 40 s"."""
    seconds = round((time.time() if now is None else now) - begun)
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
