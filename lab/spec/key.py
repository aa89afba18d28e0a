"""Define what ties a case to its trials and to its result. A guest imports this too: it stays light."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CaseKey"]


class CaseKey(NamedTuple):
    """Tells the cases of one claim apart."""

    arm: str
    point: str = ""  # '' without a sweep
