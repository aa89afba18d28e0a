"""Define the error for archives."""

from __future__ import annotations

from lab.errors import LabError


class ArchiveError(LabError):
    """Raised if an archive is damaged, or has contents that the lab's folders never have."""
