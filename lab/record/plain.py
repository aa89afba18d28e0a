"""Make what turns plain values into structs ready for threads."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from lab.units import from_plain

__all__ = ["ready"]


def ready(*kinds: type[Any]) -> None:
    """Let msgspec describe these types to itself, with all that they hold, before any thread converts to them.

    It does so at the first conversion otherwise; a second thread that converts meanwhile reads a description that is
    not finished, and the process ends with a segmentation fault (msgspec 0.22).
    """
    for kind in kinds:
        with suppress(msgspec.ValidationError):
            from_plain(None, kind)
