"""Define the error about an archive."""

from __future__ import annotations

from lab.errors import LabError


class ArchiveError(LabError):
    """Raised when an archive is damaged, or holds something that the lab's folders never hold."""
