"""Identify lines of imported files."""

from __future__ import annotations

from dataclasses import dataclass

from lab.spec.errors import Problem


@dataclass(frozen=True, slots=True)
class Where:
    """Identifies a line of an imported file."""

    file: str
    line: int

    def says(self, message: str) -> Problem:
        """Return a problem at this line."""
        return Problem(self.file, self.line, message)
