"""Prepare the conversion of plain values to structs, so that threads can use it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from lab.units import from_plain


def ready(*kinds: type[Any]) -> None:
    """Make msgspec build its descriptions of these types and their parts before any thread converts to them.

    Otherwise, msgspec builds them during the first conversion. A second thread that converts at the same time reads an
    unfinished description, and the process ends with a segmentation fault (msgspec 0.22).
    """
    for kind in kinds:
        with suppress(msgspec.ValidationError):
            from_plain(None, kind)
