"""Say how long something took since it was asked for, as `make report` does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

__all__ = ["Clocked", "since"]


@dataclass
class Clocked:
    """Note when the first of several things came, and the last."""

    begun: float  # seconds since 1970
    times: list[float] = field(default_factory=list)

    def note(self, _: object) -> None:
        """Note that one came now."""
        self.times.append(time.time())

    def said(self, what: str) -> str:
        """Return the sentence, once something came."""
        first, last = since(self.begun, self.times[0]), since(self.begun, self.times[-1])
        return f"first {what} after {first}, last one after {last}"


def since(begun: float, now: float | None = None) -> str:
    """Return the time that went by, as "5 min 40 s"."""
    seconds = round((time.time() if now is None else now) - begun)
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
