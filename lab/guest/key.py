"""Define the key that connects a case with its trials and its result.

Guests import this module, so its imports must stay light.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CaseKey"]


class CaseKey(NamedTuple):
    """Identifies a case within its claim."""

    arm: str
    point: str = ""  # '' without a sweep
