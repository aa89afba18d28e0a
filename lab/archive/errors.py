"""Say what is wrong with an archive."""

from __future__ import annotations

from lab.errors import LabError

__all__ = ["ArchiveError"]


class ArchiveError(LabError):
    """Raised when an archive is damaged, or holds what no folder of ours does."""
